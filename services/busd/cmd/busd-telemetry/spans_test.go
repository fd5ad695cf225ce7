package main

import (
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"quartet/services/busd/internal/bus"
)

func TestTheSpanOfABatchHasItsTimes(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	s := newSpans(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	b := bus.Batch{Peer: ":1.7", Began: time.Unix(1000, 0), Total: 9 * time.Second, Own: 6 * time.Second, Messages: 2}
	for i := range b.Phase {
		b.Phase[i] = time.Duration(i+1) * time.Second
	}
	s.show(t.Context(), b)
	ended := recorder.Ended()
	if len(ended) != 1 {
		t.Fatalf("%d spans", len(ended))
	}
	if d := ended[0].EndTime().Sub(ended[0].StartTime()); d != b.Total || !ended[0].StartTime().Equal(b.Began) {
		t.Errorf("from %v, for %v", ended[0].StartTime(), d)
	}
	got := map[string]any{}
	for _, a := range ended[0].Attributes() {
		got[string(a.Key)] = a.Value.AsInterface()
	}
	for name, want := range map[string]float64{"queue": 1, "dispatch": 2, "compute": 3, "send": 4, "own": 6, "total": 9} {
		if got["quartet.timing."+name] != want {
			t.Errorf("%s: %v, want %v", name, got["quartet.timing."+name], want)
		}
	}
	if got["quartet.busd.peer"] != ":1.7" || got["quartet.busd.messages"] != int64(2) {
		t.Errorf("%v", got)
	}
}
