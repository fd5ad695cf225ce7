package main

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"quartet/services/busd/internal/bus"
)

// spans makes spans of batches, away from the bus thread.
type spans struct {
	tracer trace.Tracer
	queue  chan bus.Batch
}

func newSpans(provider trace.TracerProvider) *spans {
	return &spans{tracer: provider.Tracer("quartet/services/busd"), queue: make(chan bus.Batch, 64)}
}

// take is called by the bus thread. A batch that finds no room is not shown:
// it is a sample anyway.
func (s *spans) take(b bus.Batch) {
	select {
	case s.queue <- b:
	default:
	}
}

func (s *spans) run(ctx context.Context) {
	for {
		select {
		case b := <-s.queue:
			s.show(ctx, b)
		case <-ctx.Done():
			return
		}
	}
}

// show makes the span of a batch, with the attributes of every other
// service's requests.
func (s *spans) show(ctx context.Context, b bus.Batch) {
	attributes := []attribute.KeyValue{
		attribute.String("quartet.busd.peer", b.Peer),
		attribute.Int("quartet.busd.messages", b.Messages),
	}
	for phase, d := range b.Phase {
		attributes = append(attributes, attribute.Float64("quartet.timing."+bus.Phases[phase], d.Seconds()))
	}
	attributes = append(attributes, attribute.Float64("quartet.timing.own", b.Own.Seconds()), attribute.Float64("quartet.timing.total", b.Total.Seconds()))
	_, span := s.tracer.Start(ctx, "batch", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(b.Began), trace.WithAttributes(attributes...))
	span.End(trace.WithTimestamp(b.Began.Add(b.Total)))
}
