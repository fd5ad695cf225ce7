package budget

import (
	"context"
	"fmt"
	"time"
)

// waiter is one request in the queue. Whoever waited puts it back for the next
// one, once its outcome has been received or can not come any more.
type waiter struct {
	n       int64
	ahead   int          // how many waited when it came
	outcome chan outcome // one slot, so that sending never blocks

	// guarded by Budget.mu
	queued     bool
	prev, next *waiter
}

// outcome is what becomes of a waiter.
type outcome int

const (
	abandoned outcome = iota // its context ended first
	granted
	closed
	tooLarge
)

// queue is a list in order of arrival. It is guarded by Budget.mu.
type queue struct {
	first, last *waiter
	len         int
}

func (q *queue) push(w *waiter) {
	w.ahead, w.queued = q.len, true
	w.prev, w.next = q.last, nil
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.len++
}

func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	q.len--
}

// slowTake is Take for everything but the simple case.
func (b *Budget) slowTake(ctx context.Context, n int64) error {
	b.checkUnits(n)
	if ctx.Err() != nil {
		return b.rejectDone(ctx, notQueued)
	}
	if b.retryTake(n) {
		return nil
	}
	w, what := b.takeOrQueue(n)
	ahead := notQueued
	if w != nil {
		what, ahead = b.await(ctx, w), w.ahead
		b.waiters.Put(w)
	}
	switch what {
	case granted:
		return nil
	case closed:
		return b.rejectClosed()
	case tooLarge:
		return b.rejectTooLarge(n)
	default:
		return b.rejectDone(ctx, ahead)
	}
}

// takeOrQueue takes n units, or finds that they cannot be had, or else returns
// the waiter that was queued for them.
func (b *Budget) takeOrQueue(n int64) (*waiter, outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, closed
	case n == 0:
		return nil, granted
	case n > b.capacity.Load():
		return nil, tooLarge
	}
	for {
		s := b.state.Load()
		if takable(s, n) {
			if b.state.CompareAndSwap(s, s-n<<1) {
				return nil, granted
			}
		} else if b.state.CompareAndSwap(s, s|slow) {
			// The flag is up in a state that had too little: whoever gives
			// from now on sees it, and comes for mu.
			break
		}
	}
	w, _ := b.waiters.Get().(*waiter)
	if w == nil {
		w = &waiter{outcome: make(chan outcome, 1)}
	}
	w.n = n
	b.queue.push(w)
	b.waited++
	return w, granted
}

// await waits for what becomes of w.
func (b *Budget) await(ctx context.Context, w *waiter) outcome {
	var start time.Time
	if b.options.OnWait != nil {
		start = time.Now()
	}
	var what outcome
	select {
	case what = <-w.outcome:
	case <-ctx.Done():
		what = b.abandon(w)
	}
	if what == granted && ctx.Err() != nil {
		// Both came at once, and a context that is done does not acquire.
		b.Give(w.n)
		what = abandoned
	}
	if b.options.OnWait != nil {
		b.options.OnWait(ctx, time.Since(start))
	}
	return what
}

// abandon takes w off the queue, unless somebody else has just done that and
// the outcome stands.
func (b *Budget) abandon(w *waiter) outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !w.queued {
		return <-w.outcome // sent under mu, so it is there
	}
	b.queue.remove(w)
	b.settle() // those behind may fit where w did not
	return abandoned
}

// settle grants what fits, in order, and keeps the flag slow and the channel
// drained true to their meaning. It is called, under mu, after everything that
// frees units or takes a waiter off the queue.
func (b *Budget) settle() {
	for w := b.queue.first; w != nil; w = b.queue.first {
		// The flag is up, so that nobody but us takes.
		if b.state.Load()>>1 < w.n {
			return // whoever gives next comes here
		}
		b.state.Add(-w.n << 1)
		b.queue.remove(w)
		w.outcome <- granted
	}
	switch {
	case !b.closed:
		b.state.And(^slow)
	case b.state.Load()>>1 == b.capacity.Load():
		b.signalDrained()
	}
}

// refuse sends what to the waiters that match, under mu. Call settle after it.
func (b *Budget) refuse(match func(*waiter) bool, what outcome) {
	for w := b.queue.first; w != nil; {
		next := w.next
		if match(w) {
			b.queue.remove(w)
			w.outcome <- what
		}
		w = next
	}
}

// slowTryTake is TryTake for everything but the simple case.
func (b *Budget) slowTryTake(n int64) bool {
	b.checkUnits(n)
	if b.retryTake(n) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n == 0 && !b.closed {
		return true
	}
	b.rejected.Full++
	return false
}

// slowGive is Give for everything but the simple case.
func (b *Budget) slowGive(n int64) {
	b.checkUnits(n)
	if b.retryGive(n) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		s := b.state.Load()
		if inUse := b.capacity.Load() - s>>1; n > inUse {
			panic(fmt.Sprintf("budget %s: gave back %d with %d in use", b.name, n, inUse))
		}
		if b.state.CompareAndSwap(s, s+n<<1) {
			break
		}
	}
	b.settle()
}

func (b *Budget) checkUnits(n int64) {
	if n < 0 {
		panic(fmt.Sprintf("budget %s: negative number of units %d", b.name, n))
	}
}
