package budget

import (
	"context"
	"runtime"
	"sync/atomic"
)

// A Lease is some units of a Budget, until Release. Its zero value holds
// nothing.
//
// It may be moved, into a struct for instance, but is to be released in one
// place only: two copies know of each other only in a budget with Reclaim.
// There, keeping a released Lease around can delay that a lost one is found.
type Lease struct {
	budget *Budget
	n      int64
	handle *handle // with Reclaim

	// use is, with Reclaim, which of its handle's uses this is; without, one
	// until Release. It is not an atomic type because a Lease must be
	// returnable, and of 32 bits because it may lie anywhere. The four words
	// are as many as the compiler passes in registers.
	use uint32
}

// Acquire takes n units, waiting for them in line until ctx is done. The
// error, if any, names the budget, and is for errors.Is one of ctx.Err() and
// the cause of ctx, ErrTooLarge, ErrClosed.
//
// It panics if n is negative. Zero units are always there: nothing is taken,
// nobody is waited for.
func (b *Budget) Acquire(ctx context.Context, n int64) (Lease, error) {
	if ctx.Err() != nil || !b.fastTake(n) {
		if err := b.slowTake(ctx, n); err != nil {
			return Lease{}, err
		}
	}
	return b.lease(n), nil
}

// TryAcquire takes n units if that is possible without waiting and without
// passing somebody who waits.
func (b *Budget) TryAcquire(n int64) (Lease, bool) {
	if !b.TryTake(n) {
		return Lease{}, false
	}
	return b.lease(n), true
}

func (b *Budget) lease(n int64) Lease {
	if !b.options.Reclaim || n == 0 {
		return Lease{budget: b, n: n, use: 1}
	}
	h, _ := b.handles.Get().(*handle)
	if h == nil {
		h = b.newHandle()
	}
	l := Lease{budget: b, n: n, handle: h, use: h.claim.begin(n)}
	runtime.KeepAlive(h) // garbage before begin has ended would be lost for good
	return l
}

// Release gives the units back. Only the first call does, from whichever
// goroutine it comes.
func (l *Lease) Release() {
	if h := l.handle; h != nil {
		if h.claim.end(l.use) {
			l.budget.handles.Put(h)
			l.budget.Give(l.n)
		}
		return
	}
	if l.n != 0 && atomic.CompareAndSwapUint32(&l.use, 1, 0) {
		l.budget.Give(l.n)
	}
}

// A handle is what a lost Lease is known by. While units are leased only the
// Lease refers to it, so that it becomes garbage together with the last copy;
// in between it rests in Budget.handles, because attaching a cleanup to a
// fresh object for every Acquire would cost more than all the rest.
type handle struct {
	claim *claim
}

// claim is what the cleanup of a handle needs to know. It must not refer to
// the handle, which would then never be garbage.
type claim struct {
	budget *Budget
	n      int64 // written before use becomes odd, read only after that was seen

	// use counts up by one when a lease begins and when it ends; it is odd
	// while the units are out. It tells a lease from all earlier ones that had
	// the same handle, and whoever moves it from odd to even, Release or the
	// cleanup, is the one who gives the units back.
	use atomic.Uint32
}

func (b *Budget) newHandle() *handle {
	h := &handle{claim: &claim{budget: b}}
	runtime.AddCleanup(h, (*claim).reclaim, h.claim)
	return h
}

// begin is called by the only owner of a handle at rest.
func (c *claim) begin(n int64) uint32 {
	c.n = n
	use := c.use.Load() + 1
	c.use.Store(use)
	return use
}

func (c *claim) end(use uint32) bool {
	return c.use.CompareAndSwap(use, use+1)
}

// reclaim runs when the handle is garbage. Usually it was at rest, and the
// pool just let it go.
func (c *claim) reclaim() {
	use := c.use.Load()
	if use%2 == 1 && c.end(use) {
		c.budget.count(&c.budget.reclaimed)
		c.budget.Give(c.n)
	}
}
