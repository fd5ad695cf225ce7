package signalnet

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Bounds of the frames that wait to be emitted.
const (
	maxQueued      = 300_000
	maxQueuedBytes = 96 << 20
	maxPaced       = 64 // batches with a spacing at the same time
)

// ErrFull is returned when frames do not fit into what may be queued.
var ErrFull = errors.New("too many frames are waiting to be emitted")

// batch is what one call of Enqueue brought.
type batch struct {
	specs     []Spec
	series    *Series // set instead of specs
	spacing   time.Duration
	gracious  bool // its frames have the grace of spaced ones
	bytes     int64
	cancelled bool               // guarded by inbox.mu; set by Reset
	cancel    context.CancelFunc // guarded by inbox.mu; nil until its emission begins
}

func (b *batch) len() int {
	if b.series != nil {
		return b.series.Count
	}
	return len(b.specs)
}

func (b *batch) at(i int) Spec {
	if b.series != nil {
		return b.series.at(i)
	}
	return b.specs[i]
}

// inbox holds the batches that are not emitted yet.
type inbox struct {
	arrived chan *batch // wakes Run; as long as there may be batches

	mu      sync.Mutex
	batches map[*batch]struct{} // guarded by mu
	count   int                 // guarded by mu; frames
	held    int                 // guarded by mu; those of them that lie in memory
	bytes   int64               // guarded by mu
	paced   int                 // guarded by mu; batches with a spacing
}

const maxBatches = 4096

func (in *inbox) init() {
	in.arrived = make(chan *batch, maxBatches)
	in.batches = map[*batch]struct{}{}
}

// Enqueue has the messages emitted in order: one per spacing, beside other
// batches; or, with spacing 0, as fast as they are taken, after the earlier
// batches of spacing 0. ErrFull when they do not fit.
func (n *Network) Enqueue(specs []Spec, spacing time.Duration) error {
	return n.enqueue(&batch{specs: specs, spacing: spacing})
}

func (n *Network) enqueue(b *batch) error {
	for _, s := range b.specs {
		b.bytes += s.size()
	}
	in := &n.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	full := in.held+len(b.specs) > maxQueued || in.bytes+b.bytes > maxQueuedBytes || len(in.batches) >= maxBatches
	if full || (b.spacing > 0 && in.paced >= maxPaced) {
		return ErrFull
	}
	in.batches[b] = struct{}{}
	in.count += b.len()
	in.held += len(b.specs)
	in.bytes += b.bytes
	if b.spacing > 0 {
		in.paced++
	}
	in.arrived <- b // has room: it is as long as batches may be many, and a batch leaves it before it leaves batches
	return nil
}

// Queued returns how many frames wait to be emitted.
func (n *Network) Queued() int {
	n.inbox.mu.Lock()
	defer n.inbox.mu.Unlock()
	return n.inbox.count
}

func (in *inbox) emitted() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.count--
}

// begin returns the context of a batch's emission, which Reset ends.
func (in *inbox) begin(ctx context.Context, b *batch) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	in.mu.Lock()
	defer in.mu.Unlock()
	b.cancel = cancel
	if b.cancelled {
		cancel()
	}
	return ctx
}

// done gives back what of a batch was not emitted.
func (in *inbox) done(b *batch, left int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	b.cancel()
	delete(in.batches, b)
	in.count -= left
	in.held -= len(b.specs)
	in.bytes -= b.bytes
	if b.spacing > 0 {
		in.paced--
	}
}

func (in *inbox) cancelAll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for b := range in.batches {
		b.cancelled = true
		if b.cancel != nil {
			b.cancel()
		}
	}
}
