package budget

import (
	"context"
	"errors"
	"fmt"
)

// Stats is what a Budget can tell about itself without having counted on the
// fast path. The counters only grow.
type Stats struct {
	Name     string
	Capacity int64
	InUse    int64 // may be more than Capacity for a while after Resize
	Waiting  int   // requests in the queue

	Waited    uint64 // requests that had to queue, whatever became of them
	Rejected  Rejected
	Reclaimed uint64 // leases that were lost and found, see Options.Reclaim
}

// Rejected counts the requests that got nothing, by reason.
type Rejected struct {
	Canceled uint64 // the context was cancelled
	Deadline uint64 // the deadline of the context passed
	Closed   uint64
	TooLarge uint64
	Full     uint64 // TryAcquire or TryTake would have had to wait, or the budget was closed
}

// Stats returns what holds now. Its numbers of units agree with each other.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	capacity := b.capacity.Load()
	return Stats{
		Name:      b.name,
		Capacity:  capacity,
		InUse:     capacity - b.state.Load()>>1,
		Waiting:   b.queue.len,
		Waited:    b.waited,
		Rejected:  b.rejected,
		Reclaimed: b.reclaimed,
	}
}

func (b *Budget) rejectClosed() error {
	b.count(&b.rejected.Closed)
	return fmt.Errorf("budget %s: %w", b.name, ErrClosed)
}

func (b *Budget) rejectTooLarge(n int64) error {
	b.count(&b.rejected.TooLarge)
	return fmt.Errorf("budget %s: %d of %d units: %w", b.name, n, b.capacity.Load(), ErrTooLarge)
}

// notQueued stands for the number of waiters ahead of a request that came with
// its context already done.
const notQueued = -1

func (b *Budget) rejectDone(ctx context.Context, ahead int) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		b.count(&b.rejected.Deadline)
	} else {
		b.count(&b.rejected.Canceled)
	}
	if ahead == notQueued {
		return fmt.Errorf("budget %s: %w", b.name, contextError(ctx))
	}
	return fmt.Errorf("budget %s: queued behind %d: %w", b.name, ahead, contextError(ctx))
}

// contextError is why ctx ended: what it says itself, and the cause unless
// that says as much.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func (b *Budget) count(counter *uint64) {
	b.mu.Lock()
	*counter++
	b.mu.Unlock()
}
