// Package timing says whose time a request took: ours or somebody else's.
//
// One Record travels with a request from the moment its frame was read to its
// end. At every moment the request is in exactly one Phase, on one monotonic
// clock, so the phases add up to the total to the nanosecond and
//
//	own = queue + dispatch + compute + store = total - upstream - send
//
// always holds. Enter moves the phase underneath; waiting for the disk, for an
// outside party and for the outgoing effect cover it, each covering the ones
// before it. Calls that overlap count once. An event costs O(1).
//
// At the end the record goes into the shared histograms, with the request's span
// as exemplar, and into the span itself. A phase that took exactly nothing gets
// no histogram entry: divide a phase's sum by the count of requests, not by its
// own. Without a tracer nothing here allocates.
//
// It does not choose samplers, exporters or readers: kit/telemetry does. Error
// texts go nowhere, for they may carry what users wrote; only types do.
package timing

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// inlineCalls is how many calls of a request need no allocation.
const inlineCalls = 4

// Record is the timing of one request. Embed it by value; it must not be copied
// once started. Its zero value waits for Start. All methods may be called from
// several goroutines, but Begin must have returned before its context is used.
//
// The methods of a nil Record do nothing, and nothing that happens after End
// changes the record.
type Record struct {
	mu    sync.Mutex // guards all below; what Begin set is only read after it
	state state
	begin time.Time     // when the frame was read, phases are counted from here
	last  time.Duration // since begin: up to here the phases are counted
	base  Phase
	open  [phases]int // how many waits cover the base, by phase
	spent [phases]time.Duration

	op       *Operation // nil before Begin
	span     trace.Span // nil without a tracer
	context  carrier
	exemplar context.Context // see exemplarContext

	calls [inlineCalls]Call
	used  int // of calls
}

type state uint8

const (
	idle state = iota
	running
	ended
)

// carrier is the context that Begin returns. It lives inside the record, so
// that handing a record on through a context costs nothing.
type carrier struct {
	context.Context
	record *Record
}

type recordKey struct{}

// Value implements context.Context.
func (c *carrier) Value(key any) any {
	if key == (recordKey{}) {
		return c.record
	}
	return c.Context.Value(key)
}

// FromContext returns the record that ctx carries, nil if it carries none.
func FromContext(ctx context.Context) *Record {
	r, _ := ctx.Value(recordKey{}).(*Record)
	return r
}

// Start begins the record: at is the time.Now of when the frame was read, and
// phase Queue begins there. A running record stays as it is. A record that has
// ended begins anew, for loops that use one record again and again; nobody may
// then still hold a context or a call of its earlier life. A fetch of a
// pool.Cache holds the context of whoever began it, and may outlive the request.
func (r *Record) Start(at time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start(at)
}

func (r *Record) start(at time.Time) {
	if r.state == running {
		return
	}
	if r.state == ended {
		r.last, r.base, r.used = 0, Queue, 0
		r.open, r.spent = [phases]int{}, [phases]time.Duration{}
		r.op, r.span, r.context, r.exemplar = nil, nil, carrier{}, nil
	}
	r.state, r.begin = running, at
}

// Begin names the request and returns the context that carries the record.
// Frames that turn out to be none of our business end without it and leave no
// trace. With a tracer it starts the request's span, backdated to Start. A
// record that was not started starts here; a second Begin changes nothing.
func (r *Record) Begin(ctx context.Context, op *Operation, kind trace.SpanKind) context.Context {
	if r == nil {
		return ctx
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == idle {
		r.start(time.Now())
	}
	if r.state == ended || r.op != nil {
		return ctx
	}
	r.op = op
	if tracer := op.in.tracer; tracer != nil {
		ctx, r.span = tracer.Start(ctx, op.name, trace.WithTimestamp(r.begin), trace.WithSpanKind(kind))
	}
	r.context, r.exemplar = carrier{Context: ctx, record: r}, exemplarContext(ctx)
	return &r.context
}

// Enter moves the request on to phase p: Queue, Dispatch or Compute, in any
// order. While something covers that phase, time still goes to what covers it.
func (r *Record) Enter(p Phase) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count() {
		r.base = p
	}
}

// BeginStore says that the request waits for our disk from here on. Waits may
// nest and overlap; they count once. Each needs its EndStore, unless the request
// ends first.
func (r *Record) BeginStore() { r.cover(store) }

// EndStore ends one wait that BeginStore began.
func (r *Record) EndStore() { r.uncover(store) }

// cover puts one more wait of phase p over the base phase.
func (r *Record) cover(p Phase) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count() {
		r.open[p]++
	}
}

// uncover ends one wait of phase p and returns when, on the record's clock.
func (r *Record) uncover(p Phase) time.Duration {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.count() {
		return time.Since(r.begin)
	}
	if r.open[p] > 0 {
		r.open[p]--
	}
	return r.last
}

// count gives the time up to now to the phase on top. It is false, and does
// nothing, when the record is not running. The clock is read under the lock, so
// that events of several goroutines have one order.
func (r *Record) count() bool {
	if r.state != running {
		return false
	}
	if now := time.Since(r.begin); now > r.last {
		r.spent[r.top()] += now - r.last
		r.last = now
	}
	return true
}

// top is the phase that the request is in.
func (r *Record) top() Phase {
	switch {
	case r.open[send] > 0:
		return send
	case r.open[upstream] > 0:
		return upstream
	case r.open[store] > 0:
		return store
	default:
		return r.base
	}
}

// End ends the record and returns its times. If Begin had named the request it
// is recorded now, and its span ends. The error, nil or not, only says which
// type a failed outcome is filed under. A second End returns the same times and
// does nothing else; End of a record that never started returns zero times.
func (r *Record) End(outcome Outcome, err error) Times {
	if r == nil {
		return Times{}
	}
	r.mu.Lock()
	first := r.count()
	if first {
		r.state = ended
	}
	t := Times{r.spent[Queue], r.spent[Dispatch], r.spent[Compute], r.spent[store], r.spent[upstream], r.spent[send]}
	r.mu.Unlock()

	if first && r.op != nil {
		r.report(outcome, err, t)
	}
	return t
}
