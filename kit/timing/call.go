package timing

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Peer is an outside party that works for us or takes what we send, a person
// too. It goes by its logical name, never by an address.
type Peer struct {
	in         *Instruments
	operations *names[peerOperation]
	handshake  [len(stageNames)][]metric.RecordOption // peer, stage
}

// peerOperation is what can be asked of a peer, with its options made ahead.
type peerOperation struct {
	name     string
	span     [phases][]trace.SpanStartOption    // for upstream and send
	duration [outcomes][2][]metric.RecordOption // peer, operation, outcome, reused
}

// Peer returns the outside party of that name, always the same one. Names beyond
// the first 16 share the peer "_OTHER".
func (in *Instruments) Peer(name string) *Peer { return in.peers.get(name) }

func (in *Instruments) newPeer(name string) *Peer {
	peer := keyPeer.String(name)
	p := &Peer{in: in, operations: newNames(maxPeerOperations, func(name string) *peerOperation {
		return newPeerOperation(name, peer)
	})}
	for i, stage := range stageNames {
		p.handshake[i] = series(peer, keyStage.String(stage))
	}
	return p
}

func newPeerOperation(name string, peer attribute.KeyValue) *peerOperation {
	operation := keyOperation.String(name)
	o := &peerOperation{name: name}
	for _, p := range [...]Phase{upstream, send} {
		o.span[p] = []trace.SpanStartOption{
			trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(peer, operation, keyPhase.String(p.String())),
		}
	}
	for i, reused := range [...]bool{false, true} {
		for out, options := range outcomeSeries(peer, operation, keyReused.Bool(reused)) {
			o.duration[out][i] = options
		}
	}
	return o
}

// Call is one call to an outside party, under way.
type Call struct {
	record    *Record // nil if none was running
	in        *Instruments
	operation *peerOperation
	phase     Phase
	began     time.Duration // on the record's clock
	alone     time.Time     // when it began, if it has no record
	span      trace.Span    // nil without a tracer
	exemplar  context.Context
	ended     atomic.Bool
}

// Upstream begins a call to p: until its End, the request that ctx carries waits
// for an outside party. Operations are names from our own code; those beyond a
// peer's first 32 share the name "_OTHER". The context returned is that of the
// call's span, for the call's own use. Without a request the call is recorded
// by itself.
func Upstream(ctx context.Context, p *Peer, operation string) (context.Context, *Call) {
	return beginCall(ctx, p, operation, upstream)
}

// Send begins the outgoing effect of the request that ctx carries: likewise.
func Send(ctx context.Context, p *Peer, operation string) (context.Context, *Call) {
	return beginCall(ctx, p, operation, send)
}

func beginCall(ctx context.Context, p *Peer, operation string, phase Phase) (context.Context, *Call) {
	c := FromContext(ctx).newCall(phase)
	c.in, c.operation, c.phase = p.in, p.operations.get(operation), phase
	switch {
	case p.in.tracer != nil:
		ctx, c.span = p.in.tracer.Start(ctx, c.operation.name, c.operation.span[phase]...)
		c.exemplar = ctx
	case c.record != nil:
		c.exemplar = c.record.exemplar
	default:
		c.exemplar = exemplarContext(ctx)
	}
	return ctx, c
}

// newCall makes a call that covers the base phase, or one without a record if r
// is nil or not running.
func (r *Record) newCall(p Phase) *Call {
	if r == nil {
		return &Call{alone: time.Now()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.count() {
		return &Call{alone: time.Now()}
	}
	r.open[p]++
	if r.used == len(r.calls) {
		return &Call{record: r, began: r.last}
	}
	c := &r.calls[r.used]
	r.used++
	*c = Call{record: r, began: r.last}
	return c
}

// End ends the call: its answer was read or closed, or it failed with err.
// reused says whether it went over a connection that was open already. After the
// request's end the call still gets its histogram entry and its span ends; only
// the record takes no notice of it any more. A second End does nothing.
func (c *Call) End(reused bool, err error) {
	if c.ended.Swap(true) {
		return
	}
	var took time.Duration
	if c.record != nil {
		took = c.record.uncover(c.phase) - c.began
	} else {
		took = time.Since(c.alone)
	}
	outcome := callOutcome(err)
	connection := 0
	if reused {
		connection = 1
	}
	c.in.call.Record(c.exemplar, took.Seconds(), c.operation.duration[outcome][connection]...)
	if c.span != nil {
		endCallSpan(c.span, outcome, reused, err)
	}
}

func endCallSpan(span trace.Span, outcome Outcome, reused bool, err error) {
	if span.IsRecording() {
		span.SetAttributes(keyOutcome.String(outcome.String()), keyReused.Bool(reused))
		if outcome.failed() {
			fail(span, typeOf(err, outcome))
		}
	}
	span.End()
}

// callOutcome tells from a call's error how it ended.
func callOutcome(err error) Outcome {
	if err == nil {
		return OK
	}
	if errors.Is(err, context.Canceled) {
		return Canceled
	}
	if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() {
		return Timeout // context.DeadlineExceeded too
	}
	return UpstreamError
}
