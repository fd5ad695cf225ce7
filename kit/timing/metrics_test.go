package timing_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"quartet/kit/pool"
	"quartet/kit/timing"
)

// metered returns instruments and the reader that collects from them.
func metered(t testing.TB, tp trace.TracerProvider) (*timing.Instruments, *sdkmetric.ManualReader) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	in, err := timing.New(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), tp)
	if err != nil {
		t.Fatal(err)
	}
	return in, reader
}

// histogram returns the points of a histogram by their attributes, none if it
// was never recorded.
func histogram(t *testing.T, reader sdkmetric.Reader, name string) map[string]metricdata.HistogramDataPoint[float64] {
	t.Helper()
	points := map[string]metricdata.HistogramDataPoint[float64]{}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
				points[p.Attributes.Encoded(attribute.DefaultEncoder())] = p
			}
		}
	}
	return points
}

// sum holds a histogram's point to its count and its sum in milliseconds.
func sum(t *testing.T, reader sdkmetric.Reader, name, attributes string, count uint64, millis float64) {
	t.Helper()
	points := histogram(t, reader, name)
	p, ok := points[attributes]
	if !ok {
		t.Errorf("%s has no %s, but %v", name, attributes, points)
		return
	}
	if p.Count != count || fmt.Sprintf("%.6f", p.Sum*1000) != fmt.Sprintf("%.6f", millis) {
		t.Errorf("%s{%s}: count %d, sum %v s, want %d of %v ms in all", name, attributes, p.Count, p.Sum, count, millis)
	}
}

func TestARequestIsRecordedOnce(t *testing.T) {
	in, reader := metered(t, nil)
	synctest.Test(t, func(t *testing.T) {
		var r timing.Record
		r.Start(time.Now())
		ms(1)
		ctx := r.Begin(t.Context(), in.Operation("cat"), trace.SpanKindConsumer)
		r.Enter(timing.Compute)
		ms(2)
		_, call := timing.Upstream(ctx, in.Peer("thecatapi"), "search")
		ms(386)
		call.End(true, nil)
		call.End(false, nil)
		_, call = timing.Send(ctx, in.Peer("signal"), "send")
		ms(2648)
		call.End(false, nil)
		r.End(timing.OK, nil)
		r.End(timing.Timeout, nil)
	})
	sum(t, reader, "quartet.request.duration", "operation=cat,outcome=ok", 1, 3037)
	sum(t, reader, "quartet.request.own.duration", "operation=cat,outcome=ok", 1, 3)
	sum(t, reader, "quartet.request.upstream.duration", "operation=cat,outcome=ok", 1, 386)
	sum(t, reader, "quartet.request.phase.duration", "operation=cat,phase=queue", 1, 1)
	sum(t, reader, "quartet.request.phase.duration", "operation=cat,phase=compute", 1, 2)
	sum(t, reader, "quartet.request.phase.duration", "operation=cat,phase=upstream", 1, 386)
	sum(t, reader, "quartet.request.phase.duration", "operation=cat,phase=send", 1, 2648)
	sum(t, reader, "quartet.upstream.call.duration", "connection.reused=true,operation=search,outcome=ok,service.peer.name=thecatapi", 1, 386)
	sum(t, reader, "quartet.upstream.call.duration", "connection.reused=false,operation=send,outcome=ok,service.peer.name=signal", 1, 2648)
	for name, series := range map[string]int{
		"quartet.request.duration":       1,
		"quartet.request.phase.duration": 4, // neither dispatch nor store took anything
		"quartet.upstream.call.duration": 2,
	} {
		if n := len(histogram(t, reader, name)); n != series {
			t.Errorf("%s has %d series, want %d", name, n, series)
		}
	}
}

func TestARequestWithoutUpstreamHasNoUpstreamEntry(t *testing.T) {
	in, reader := metered(t, nil)
	var r timing.Record
	r.Start(time.Now())
	r.Begin(t.Context(), in.Operation("help"), trace.SpanKindConsumer)
	r.End(timing.OK, nil)
	if points := histogram(t, reader, "quartet.request.upstream.duration"); len(points) != 0 {
		t.Errorf("got %v", points)
	}
}

func TestAFrameThatWasNeverNamedLeavesNoTrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	in, reader := metered(t, sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	in.Operation("cat")
	var r timing.Record
	r.Start(time.Now())
	r.Enter(timing.Dispatch)
	r.End(timing.OK, nil)
	if points := histogram(t, reader, "quartet.request.duration"); len(points) != 0 {
		t.Errorf("got %v", points)
	}
	if got := spans.GetSpans(); len(got) != 0 {
		t.Errorf("spans %v", got)
	}
}

func TestFailuresAreFiledUnderTheirType(t *testing.T) {
	tests := []struct {
		outcome timing.Outcome
		err     error
		want    string
	}{
		{timing.OK, nil, "operation=cat,outcome=ok"},
		{timing.OK, errors.New("ignored"), "operation=cat,outcome=ok"},
		{timing.Rejected, errors.New("cooldown"), "operation=cat,outcome=rejected"},
		{timing.Canceled, context.Canceled, "operation=cat,outcome=canceled"},
		{timing.Timeout, context.DeadlineExceeded, "error.type=timeout,operation=cat,outcome=timeout"},
		{timing.InternalError, nil, "error.type=internal_error,operation=cat,outcome=internal_error"},
		{timing.InternalError, errors.New("secret"), "error.type=internal_error,operation=cat,outcome=internal_error"},
		{timing.UpstreamError, fmt.Errorf("get: %w", &net.DNSError{}), "error.type=*net.DNSError,operation=cat,outcome=upstream_error"},
		{timing.InternalError, fmt.Errorf("open: %w", &fs.PathError{Err: os.ErrNotExist}), "error.type=*fs.PathError,operation=cat,outcome=internal_error"},
		{timing.UpstreamError, fmt.Errorf("call: %w", fmt.Errorf("%w: %w", errors.New("not sent"), &net.DNSError{})), "error.type=*net.DNSError,operation=cat,outcome=upstream_error"},
		{timing.UpstreamError, errors.Join(errors.New("a"), errors.New("b")), "error.type=upstream_error,operation=cat,outcome=upstream_error"},
	}
	for _, tt := range tests {
		in, reader := metered(t, nil)
		var r timing.Record
		r.Begin(t.Context(), in.Operation("cat"), trace.SpanKindConsumer)
		r.End(tt.outcome, tt.err)
		points := histogram(t, reader, "quartet.request.duration")
		if _, ok := points[tt.want]; !ok || len(points) != 1 {
			t.Errorf("%v, %v: got %v, want %s", tt.outcome, tt.err, points, tt.want)
		}
	}
}

func TestACallsErrorDecidesItsOutcome(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{nil, "ok"},
		{errors.New("refused"), "upstream_error"},
		{fmt.Errorf("call: %w", context.Canceled), "canceled"},
		{fmt.Errorf("call: %w", context.DeadlineExceeded), "timeout"},
		{fmt.Errorf("read: %w", os.ErrDeadlineExceeded), "timeout"},
		{fmt.Errorf("lookup: %w", &net.DNSError{IsTimeout: true}), "timeout"},
		{fmt.Errorf("lookup: %w", &net.DNSError{}), "upstream_error"},
	}
	for _, tt := range tests {
		in, reader := metered(t, nil)
		_, call := timing.Upstream(t.Context(), in.Peer("cats"), "search")
		call.End(false, tt.err)
		want := "connection.reused=false,operation=search,outcome=" + tt.want + ",service.peer.name=cats"
		points := histogram(t, reader, "quartet.upstream.call.duration")
		if _, ok := points[want]; !ok || len(points) != 1 {
			t.Errorf("%v: got %v, want %s", tt.err, points, want)
		}
	}
}

func TestACallAfterTheEndIsTimedByItself(t *testing.T) {
	in, reader := metered(t, nil)
	synctest.Test(t, func(t *testing.T) {
		var r timing.Record
		ctx := r.Begin(t.Context(), in.Operation("cat"), trace.SpanKindConsumer)
		_, crossing := timing.Upstream(ctx, in.Peer("cats"), "search")
		ms(1)
		r.End(timing.OK, nil)
		ms(2)
		crossing.End(false, nil)
		_, late := timing.Send(ctx, in.Peer("signal"), "send")
		ms(4)
		late.End(false, nil)
	})
	sum(t, reader, "quartet.upstream.call.duration", "connection.reused=false,operation=search,outcome=ok,service.peer.name=cats", 1, 3)
	sum(t, reader, "quartet.upstream.call.duration", "connection.reused=false,operation=send,outcome=ok,service.peer.name=signal", 1, 4)
	sum(t, reader, "quartet.request.duration", "operation=cat,outcome=ok", 1, 1)
}

func TestAPoolsCallIsRecorded(t *testing.T) {
	tests := []struct {
		done pool.Call
		want string
	}{
		{pool.Call{Status: 200, Reused: true}, "connection.reused=true,operation=search,outcome=ok,service.peer.name=cats"},
		{pool.Call{Status: 399}, "connection.reused=false,operation=search,outcome=ok,service.peer.name=cats"},
		{pool.Call{Status: 400, Reused: true}, "connection.reused=true,operation=search,outcome=upstream_error,service.peer.name=cats"},
		{pool.Call{Status: 200, Err: context.DeadlineExceeded}, "connection.reused=false,operation=search,outcome=timeout,service.peer.name=cats"},
	}
	for _, tt := range tests {
		in, reader := metered(t, nil)
		for _, start := range []func(context.Context, string) (context.Context, func(pool.Call)){
			in.Peer("cats").StartUpstream, in.Peer("cats").StartSend,
		} {
			_, done := start(t.Context(), "search")
			done(tt.done)
		}
		points := histogram(t, reader, "quartet.upstream.call.duration")
		if p := points[tt.want]; len(points) != 1 || p.Count != 2 {
			t.Errorf("%+v: got %v, want %s", tt.done, points, tt.want)
		}
		if len(histogram(t, reader, "quartet.pool.handshake.duration")) != 0 {
			t.Errorf("%+v: a handshake that was none", tt.done)
		}
	}
}

func TestAPoolsCallsCoverTheirPhase(t *testing.T) {
	in := instruments(t)
	synctest.Test(t, func(t *testing.T) {
		var r timing.Record
		ctx := r.Begin(t.Context(), in.Operation("cat"), trace.SpanKindConsumer)
		_, search := in.Peer("cats").StartUpstream(ctx, "search")
		ms(1)
		_, send := in.Peer("signal").StartSend(ctx, "send")
		ms(2)
		send(pool.Call{})
		ms(4)
		search(pool.Call{})
		ms(8)
		if got := r.End(timing.OK, nil); got != scale(timing.Times{Queue: 8, Upstream: 5, Send: 2}) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestHandshakesAreRecordedByStage(t *testing.T) {
	in, reader := metered(t, nil)
	_, done := in.Peer("cats").StartUpstream(t.Context(), "search")
	done(pool.Call{DNS: time.Millisecond, Connect: 2 * time.Millisecond, TLS: 3 * time.Millisecond})
	for stage, took := range map[string]float64{"dns": 1, "connect": 2, "tls": 3} {
		sum(t, reader, "quartet.pool.handshake.duration", "service.peer.name=cats,stage="+stage, 1, took)
	}
}

func TestAJournalsWritesAndSyncsAreRecorded(t *testing.T) {
	in, reader := metered(t, nil)
	write, sync := in.JournalWrite("state"), in.JournalSync("state")
	write(time.Millisecond, 100, nil)
	write(2*time.Millisecond, 0, errors.New("full"))
	sync(8*time.Millisecond, 100, nil)
	in.JournalWrite("spill")(time.Second, 1, nil)
	sum(t, reader, "quartet.journal.write.duration", "journal.name=state", 2, 3)
	sum(t, reader, "quartet.journal.write.duration", "journal.name=spill", 1, 1000)
	sum(t, reader, "quartet.journal.sync.duration", "journal.name=state", 1, 8)
}

func TestTheNumberOfNamesIsBounded(t *testing.T) {
	in := instruments(t)
	first := in.Operation("first")
	for n := range 2 * timing.MaxOperations {
		in.Operation(fmt.Sprint("operation ", n))
	}
	if in.Operation("first") != first {
		t.Error("a known operation changed")
	}
	if a, b := in.Operation("stranger"), in.Operation("another"); a != b || a != in.Operation("_OTHER") {
		t.Error("operations beyond the bound differ")
	}
	for n := range timing.MaxPeers {
		in.Peer(fmt.Sprint("peer ", n))
	}
	if in.Peer("stranger") != in.Peer("_OTHER") || in.Peer("peer 0") == in.Peer("_OTHER") {
		t.Error("peers are not bounded")
	}
}

func TestCallsBeyondTheBoundShareAName(t *testing.T) {
	in, reader := metered(t, nil)
	for n := range 2 * timing.MaxPeerOperations {
		_, call := timing.Upstream(t.Context(), in.Peer("cats"), fmt.Sprint("operation ", n))
		call.End(false, nil)
	}
	points := histogram(t, reader, "quartet.upstream.call.duration")
	other := points["connection.reused=false,operation=_OTHER,outcome=ok,service.peer.name=cats"]
	if len(points) != timing.MaxPeerOperations+1 || other.Count != timing.MaxPeerOperations {
		t.Errorf("%d series, %d calls of other names", len(points), other.Count)
	}
}

func TestSpansTellTheSameTimes(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	in, reader := metered(t, sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	synctest.Test(t, func(t *testing.T) {
		var r timing.Record
		start := time.Now()
		r.Start(start)
		ms(5)
		ctx := r.Begin(t.Context(), in.Operation("cat"), trace.SpanKindConsumer)
		r.Enter(timing.Compute)
		ms(2)
		_, call := timing.Upstream(ctx, in.Peer("cats"), "search")
		ms(100)
		call.End(true, nil)
		_, late := timing.Send(ctx, in.Peer("signal"), "send")
		ms(10)
		r.End(timing.UpstreamError, &net.DNSError{})
		ms(10)
		late.End(false, errors.New("refused"))

		got := map[string]tracetest.SpanStub{}
		for _, s := range spans.GetSpans() {
			got[s.Name] = s
		}
		request, search, send := got["cat"], got["search"], got["send"]
		if len(got) != 3 {
			t.Fatalf("got %d spans", len(got))
		}
		if !request.StartTime.Equal(start) || request.EndTime.Sub(start) != 117*time.Millisecond {
			t.Errorf("the request's span is %v to %v", request.StartTime, request.EndTime)
		}
		if search.EndTime.Sub(search.StartTime) != 100*time.Millisecond || send.EndTime.Sub(send.StartTime) != 20*time.Millisecond {
			t.Errorf("calls took %v and %v", search.EndTime.Sub(search.StartTime), send.EndTime.Sub(send.StartTime))
		}
		for _, child := range []tracetest.SpanStub{search, send} {
			if child.Parent.SpanID() != request.SpanContext.SpanID() || child.SpanKind != trace.SpanKindClient {
				t.Errorf("%s is not a client call of the request", child.Name)
			}
		}
		if request.Status.Code != codes.Error || search.Status.Code != codes.Unset || send.Status.Code != codes.Error {
			t.Errorf("status %v, %v, %v", request.Status, search.Status, send.Status)
		}
		attributes := attribute.NewSet(request.Attributes...)
		for key, want := range map[attribute.Key]float64{
			"quartet.timing.queue": 0.005, "quartet.timing.dispatch": 0, "quartet.timing.compute": 0.002,
			"quartet.timing.store": 0, "quartet.timing.upstream": 0.1, "quartet.timing.send": 0.01,
			"quartet.timing.own": 0.007, "quartet.timing.total": 0.117,
		} {
			if v, ok := attributes.Value(key); !ok || v.AsFloat64() != want {
				t.Errorf("%s is %v, want %v", key, v.AsFloat64(), want)
			}
		}
		for _, name := range []string{"quartet.request.duration", "quartet.request.phase.duration"} {
			for attributes, p := range histogram(t, reader, name) {
				if len(p.Exemplars) != 1 || trace.TraceID(p.Exemplars[0].TraceID) != request.SpanContext.TraceID() ||
					trace.SpanID(p.Exemplars[0].SpanID) != request.SpanContext.SpanID() {
					t.Errorf("%s{%s} does not lead to the request's span: %v", name, attributes, p.Exemplars)
				}
			}
		}
		for attributes, p := range histogram(t, reader, "quartet.upstream.call.duration") {
			if id := trace.SpanID(p.Exemplars[0].SpanID); id != search.SpanContext.SpanID() && id != send.SpanContext.SpanID() {
				t.Errorf("%s does not lead to the call's span: %v", attributes, p.Exemplars)
			}
		}
	})
}

func TestAnUnsampledRequestLeavesNoExemplar(t *testing.T) {
	in, reader := metered(t, sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	var r timing.Record
	r.Begin(t.Context(), in.Operation("cat"), trace.SpanKindServer)
	r.End(timing.OK, nil)
	for attributes, p := range histogram(t, reader, "quartet.request.duration") {
		if len(p.Exemplars) != 0 {
			t.Errorf("%s: %v", attributes, p.Exemplars)
		}
	}
}

func TestAStrangersTraceIsKeptWithoutATracer(t *testing.T) {
	in, reader := metered(t, nil)
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true})
	var r timing.Record
	r.Begin(trace.ContextWithSpanContext(t.Context(), remote), in.Operation("sign"), trace.SpanKindServer)
	r.End(timing.OK, nil)
	p := histogram(t, reader, "quartet.request.duration")["operation=sign,outcome=ok"]
	if len(p.Exemplars) != 1 || trace.TraceID(p.Exemplars[0].TraceID) != remote.TraceID() {
		t.Errorf("exemplars %v", p.Exemplars)
	}
}

func TestRecordingDoesNotAllocateWithoutATracer(t *testing.T) {
	for name, tp := range map[string]trace.TracerProvider{"none": nil, "no-op": tracenoop.NewTracerProvider()} {
		in, _ := metered(t, tp)
		op, peer := in.Operation("op"), in.Peer("cats")
		parent := t.Context()
		var r timing.Record
		allocs := testing.AllocsPerRun(100, func() {
			r.Start(time.Now())
			ctx := r.Begin(parent, op, trace.SpanKindServer)
			r.Enter(timing.Dispatch)
			r.Enter(timing.Compute)
			r.BeginStore()
			r.EndStore()
			_, call := timing.Upstream(ctx, peer, "search")
			call.End(true, nil)
			_, call = timing.Send(ctx, peer, "send")
			call.End(true, nil)
			r.End(timing.OK, nil)
		})
		if allocs != 0 {
			t.Errorf("tracer %s: %v allocations", name, allocs)
		}
	}
}

// refusing is a meter that makes no histograms.
type refusing struct{ noop.Meter }

var errRefused = errors.New("refused")

func (refusing) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, errRefused
}

type refusingProvider struct{ noop.MeterProvider }

func (refusingProvider) Meter(string, ...metric.MeterOption) metric.Meter { return refusing{} }

func TestAProviderThatRefusesIsAnError(t *testing.T) {
	if _, err := timing.New(refusingProvider{}, nil); !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
}
