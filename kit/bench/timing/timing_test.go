// Package timing compares kit/timing with recording the same instruments by
// hand: what does it cost that phases, overlaps, spans and series are taken care
// of?
package timing

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"quartet/kit/bench/cpu"
	"quartet/kit/timing"
)

// BenchmarkRequest is one whole request: queue, dispatch, compute, one upstream
// call and one send, ten histogram entries. Everybody reads the clock at the
// same eight points.
//
//   - quartet: kit/timing, no tracer
//   - by-hand: the same instruments, options made ahead, plain differences
//   - by-hand-attributes: the same with WithAttributes at each record
//   - quartet-sampled, by-hand-sampled: with a tracer that samples everything
func BenchmarkRequest(b *testing.B) {
	b.Run("quartet", func(b *testing.B) { runQuartet(b, nil) })
	b.Run("by-hand", func(b *testing.B) { runByHand(b, (*byHand).request) })
	b.Run("by-hand-attributes", func(b *testing.B) { runByHand(b, (*byHand).requestWithAttributes) })
	b.Run("quartet-sampled", func(b *testing.B) { runQuartet(b, tracer()) })
	b.Run("by-hand-sampled", func(b *testing.B) { runByHand(b, (*byHand).requestWithSpans) })
}

// discard takes spans as a batching processor would, and drops them.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

func tracer() trace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discard{}), sdktrace.WithSampler(sdktrace.AlwaysSample()))
}

func meters() metric.MeterProvider {
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
}

func runQuartet(b *testing.B, tp trace.TracerProvider) {
	in, err := timing.New(meters(), tp)
	if err != nil {
		b.Fatal(err)
	}
	op, cat, signal := in.Operation("cat"), in.Peer("thecatapi"), in.Peer("signal")
	background := context.Background()
	var r timing.Record
	b.ReportAllocs()
	defer cpu.PerOp(b)()
	for b.Loop() {
		r.Start(time.Now())
		ctx := r.Begin(background, op, trace.SpanKindConsumer)
		r.Enter(timing.Dispatch)
		r.Enter(timing.Compute)
		_, call := timing.Upstream(ctx, cat, "search")
		call.End(true, nil)
		_, call = timing.Send(ctx, signal, "send")
		call.End(true, nil)
		r.End(timing.OK, nil)
	}
}

// byHand is what a service would write that knows its operation, its peers and
// its five moments.
type byHand struct {
	duration, own, upstream, phase, call metric.Float64Histogram
	tracer                               trace.Tracer

	ok                                        []metric.RecordOption
	queue, dispatch, compute, upstreamP, send []metric.RecordOption
	search, sent                              []metric.RecordOption
}

// moments are the clock readings of one request, since its frame was read.
type moments struct {
	dispatched, computing, asked, answered, sending, sent, ended time.Duration
}

func runByHand(b *testing.B, request func(*byHand)) {
	h := newByHand(b)
	b.ReportAllocs()
	defer cpu.PerOp(b)()
	for b.Loop() {
		request(h)
	}
}

func newByHand(b *testing.B) *byHand {
	bounds := []float64{
		0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05,
		0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
	}
	meter := meters().Meter("by-hand")
	histogram := func(name string, bounds []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(bounds...))
		if err != nil {
			b.Fatal(err)
		}
		return h
	}
	options := func(a ...attribute.KeyValue) []metric.RecordOption {
		return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(a...))}
	}
	phase := func(p string) []metric.RecordOption {
		return options(attribute.String("operation", "cat"), attribute.String("phase", p))
	}
	call := func(peer, operation string) []metric.RecordOption {
		return options(attribute.String("service.peer.name", peer), attribute.String("operation", operation),
			attribute.String("outcome", "ok"), attribute.Bool("connection.reused", true))
	}
	return &byHand{
		duration: histogram("quartet.request.duration", bounds),
		own:      histogram("quartet.request.own.duration", bounds[:18]),
		upstream: histogram("quartet.request.upstream.duration", bounds),
		phase:    histogram("quartet.request.phase.duration", bounds),
		call:     histogram("quartet.upstream.call.duration", bounds),
		tracer:   tracer().Tracer("by-hand"),

		ok:        options(attribute.String("operation", "cat"), attribute.String("outcome", "ok")),
		queue:     phase("queue"),
		dispatch:  phase("dispatch"),
		compute:   phase("compute"),
		upstreamP: phase("upstream"),
		send:      phase("send"),
		search:    call("thecatapi", "search"),
		sent:      call("signal", "send"),
	}
}

func (h *byHand) request() {
	ctx := context.Background()
	start := time.Now()
	var m moments
	m.dispatched = time.Since(start)
	m.computing = time.Since(start)
	m.asked = time.Since(start)
	m.answered = time.Since(start)
	h.call.Record(ctx, (m.answered - m.asked).Seconds(), h.search...)
	m.sending = time.Since(start)
	m.sent = time.Since(start)
	h.call.Record(ctx, (m.sent - m.sending).Seconds(), h.sent...)
	m.ended = time.Since(start)
	h.record(ctx, m)
}

func (h *byHand) record(ctx context.Context, m moments) {
	upstream, send := m.answered-m.asked, m.sent-m.sending
	own := m.ended - upstream - send
	h.duration.Record(ctx, m.ended.Seconds(), h.ok...)
	h.own.Record(ctx, own.Seconds(), h.ok...)
	h.upstream.Record(ctx, upstream.Seconds(), h.ok...)
	h.phase.Record(ctx, m.dispatched.Seconds(), h.queue...)
	h.phase.Record(ctx, (m.computing - m.dispatched).Seconds(), h.dispatch...)
	h.phase.Record(ctx, (own - m.computing).Seconds(), h.compute...)
	h.phase.Record(ctx, upstream.Seconds(), h.upstreamP...)
	h.phase.Record(ctx, send.Seconds(), h.send...)
}

// requestWithAttributes is what the API's examples show.
func (h *byHand) requestWithAttributes() {
	ctx := context.Background()
	start := time.Now()
	dispatched := time.Since(start)
	computing := time.Since(start)
	asked := time.Since(start)
	upstream := time.Since(start) - asked
	h.recordCall(ctx, upstream, "thecatapi", "search")
	sending := time.Since(start)
	send := time.Since(start) - sending
	h.recordCall(ctx, send, "signal", "send")
	ended := time.Since(start)
	own := ended - upstream - send

	for _, p := range [...]struct {
		phase string
		took  time.Duration
	}{
		{"queue", dispatched}, {"dispatch", computing - dispatched}, {"compute", own - computing}, {"upstream", upstream}, {"send", send},
	} {
		h.phase.Record(ctx, p.took.Seconds(), metric.WithAttributes(attribute.String("operation", "cat"), attribute.String("phase", p.phase)))
	}
	for _, whole := range [...]struct {
		metric.Float64Histogram
		took time.Duration
	}{{h.duration, ended}, {h.own, own}, {h.upstream, upstream}} {
		whole.Record(ctx, whole.took.Seconds(), metric.WithAttributes(attribute.String("operation", "cat"), attribute.String("outcome", "ok")))
	}
}

func (h *byHand) recordCall(ctx context.Context, took time.Duration, peer, operation string) {
	h.call.Record(ctx, took.Seconds(), metric.WithAttributes(
		attribute.String("service.peer.name", peer), attribute.String("operation", operation),
		attribute.String("outcome", "ok"), attribute.Bool("connection.reused", true)))
}

// requestWithSpans adds the three spans and the attributes that kit/timing
// gives them.
func (h *byHand) requestWithSpans() {
	start := time.Now()
	var m moments
	m.dispatched = time.Since(start)
	ctx, span := h.tracer.Start(context.Background(), "cat", trace.WithTimestamp(start), trace.WithSpanKind(trace.SpanKindConsumer))
	m.computing = time.Since(start)

	m.asked = time.Since(start)
	m.answered = h.child(ctx, start, m.asked, "thecatapi", "search", h.search)
	m.sending = time.Since(start)
	m.sent = h.child(ctx, start, m.sending, "signal", "send", h.sent)
	m.ended = time.Since(start)
	h.record(ctx, m)

	upstream, send := m.answered-m.asked, m.sent-m.sending
	own := m.ended - upstream - send
	span.SetAttributes(
		attribute.String("outcome", "ok"),
		attribute.Float64("quartet.timing.queue", m.dispatched.Seconds()),
		attribute.Float64("quartet.timing.dispatch", (m.computing-m.dispatched).Seconds()),
		attribute.Float64("quartet.timing.compute", (own-m.computing).Seconds()),
		attribute.Float64("quartet.timing.store", 0),
		attribute.Float64("quartet.timing.upstream", upstream.Seconds()),
		attribute.Float64("quartet.timing.send", send.Seconds()),
		attribute.Float64("quartet.timing.own", own.Seconds()),
		attribute.Float64("quartet.timing.total", m.ended.Seconds()),
	)
	span.End(trace.WithTimestamp(start.Add(m.ended)))
}

// child is one call with its span; it returns when the call ended.
func (h *byHand) child(ctx context.Context, start time.Time, began time.Duration, peer, operation string, options []metric.RecordOption) time.Duration {
	ctx, span := h.tracer.Start(ctx, operation, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("service.peer.name", peer), attribute.String("operation", operation), attribute.String("phase", "upstream")))
	ended := time.Since(start)
	h.call.Record(ctx, (ended - began).Seconds(), options...)
	span.SetAttributes(attribute.String("outcome", "ok"), attribute.Bool("connection.reused", true))
	span.End()
	return ended
}
