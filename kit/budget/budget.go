// Package budget bounds how much may go on at the same time.
//
// A Budget has a capacity in units: slots, bytes, whatever the owner counts.
// Acquire takes some of them, waiting until they are free, and returns a Lease
// that gives them back. Go does the same around a goroutine, and takes the
// units before it spawns, so that a burst waits at the caller instead of
// becoming a crowd of parked goroutines.
//
// Guarantees:
//
//   - Strict FIFO. Nobody passes a waiter, not even a small request passes a
//     large one at the head that does not fit yet, nor does TryAcquire.
//     A large request thus cannot starve; small ones may have to wait for it.
//   - A context that is done never acquires, also when it ends in the very
//     moment in which the units come free: they go to the next waiter.
//   - A request for more than the capacity fails at once: it could never be
//     served.
//   - Units are handed to the waiter by whoever gives them back. No wake-up is
//     lost, nobody polls.
//
// While nobody waits, taking and giving are one compare-and-swap each, and
// nothing is allocated. A waiter costs a switch of goroutines, which is the
// price of the order.
//
// It limits concurrency, not rate. It knows no priorities.
package budget

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrClosed is returned for every request after Close, and to those that
	// were waiting then.
	ErrClosed = errors.New("closed")

	// ErrTooLarge is returned at once for more units than the capacity, and to
	// a waiter that Resize made too large to be ever served.
	ErrTooLarge = errors.New("more than the capacity")
)

// Options change what a Budget does beside counting.
type Options struct {
	// Reclaim makes the garbage collector the safety net: the units of a Lease
	// that nobody can release any more come back, and are counted in
	// Stats.Reclaimed. That takes a collection, which in an idle process can
	// be two minutes away; it is a net for bugs, not a way to release.
	// Units of Take are not covered. Without Reclaim they all stay lost.
	Reclaim bool

	// OnWait is called after every request that had to queue, granted or not,
	// on the goroutine that waited. It must not panic. The clock is read only
	// when it is set.
	OnWait func(ctx context.Context, waited time.Duration)
}

// A Budget hands out a limited number of units. Create it with New.
// All its methods may be called by any number of goroutines.
type Budget struct {
	// state is the number of free units, shifted left by one, and the flag
	// slow in the lowest bit. Free units are negative after Resize has made
	// the capacity smaller than what is in use.
	//
	// The two live in one word because that is what makes the fast path right:
	// whoever gives units back learns in the same step whether somebody waits,
	// and whoever starts to wait learns in the same step whether something
	// came free.
	state atomic.Int64

	// capacity is written under mu, in an order that never lets it be more
	// than what state was made from: see Resize.
	capacity atomic.Int64

	name    string
	options Options

	mu        sync.Mutex
	queue     queue         // guarded by mu
	closed    bool          // guarded by mu
	drained   chan struct{} // closed, under mu, when b is closed and nothing is in use
	waited    uint64        // guarded by mu, like the other two counts
	reclaimed uint64
	rejected  Rejected

	waiters sync.Pool // of *waiter; not shared, as a channel may belong to a synctest bubble
	handles sync.Pool // of *handle, with Reclaim
}

// slow is set in Budget.state exactly while somebody waits or the budget is
// closed. It sends everybody through mu, where order is kept.
const slow = 1

// maxCapacity leaves room for the flag, and for what is in use beyond a smaller
// capacity.
const maxCapacity = 1<<62 - 1

// New returns a budget of capacity units. The name is for errors and metrics.
// It panics if capacity is negative or does not fit into 62 bits.
func New(name string, capacity int64, o Options) *Budget {
	checkCapacity(name, capacity)
	b := &Budget{name: name, options: o, drained: make(chan struct{})}
	b.capacity.Store(capacity)
	b.state.Store(capacity << 1)
	return b
}

// Take is Acquire without a Lease, for loops that pair it with Give
// themselves. If it returns nil, n units are the caller's.
//
// It panics if n is negative. Zero units are always there: nothing is taken,
// nobody is waited for.
func (b *Budget) Take(ctx context.Context, n int64) error {
	if ctx.Err() == nil && b.fastTake(n) {
		return nil
	}
	return b.slowTake(ctx, n)
}

// TryTake takes n units if that is possible without waiting and without
// passing somebody who waits.
func (b *Budget) TryTake(n int64) bool {
	return b.fastTake(n) || b.slowTryTake(n)
}

// Give returns n units that Take or TryTake took. Giving back more than is in
// use panics and changes nothing.
func (b *Budget) Give(n int64) {
	if !b.fastGive(n) {
		b.slowGive(n)
	}
}

// fastTake takes n units if n is positive, they are free, nobody waits, and no
// other goroutine changes state in this moment.
func (b *Budget) fastTake(n int64) bool {
	s := b.state.Load()
	return takable(s, n) && b.state.CompareAndSwap(s, s-n<<1)
}

func takable(s, n int64) bool {
	return s&slow == 0 && s>>1 >= n && n > 0
}

// fastGive is the way back under the same conditions.
func (b *Budget) fastGive(n int64) bool {
	s := b.state.Load()
	return b.givable(s, n) && b.state.CompareAndSwap(s, s+n<<1)
}

func (b *Budget) givable(s, n int64) bool {
	return s&slow == 0 && b.capacity.Load()-s>>1 >= n && n > 0
}

// retryTake goes on where fastTake lost against another goroutine.
func (b *Budget) retryTake(n int64) bool {
	for lost := 1; takable(b.state.Load(), n); lost++ {
		backOff(lost)
		if b.fastTake(n) {
			return true
		}
	}
	return false
}

// retryGive goes on where fastGive lost against another goroutine.
func (b *Budget) retryGive(n int64) bool {
	for lost := 1; b.givable(b.state.Load(), n); lost++ {
		backOff(lost)
		if b.fastGive(n) {
			return true
		}
	}
	return false
}

// backOff spins for about half a microsecond, up to four times that if the
// caller loses again and again. Two processors that fight for one word at every
// step are slower together than one alone: whoever lost lets the other have a
// few turns. Much less, and the fight costs more than the spinning.
//
//go:noinline
func backOff(lost int) (spun int) {
	for i := range 2000 * min(lost, 4) {
		spun += i
	}
	return spun
}

// Go takes n units, waiting for them if it must, and only then runs fn on a
// goroutine of its own. The units come back when fn ends, in whatever way. On
// an error fn does not run. A panic of fn is not recovered.
func (b *Budget) Go(ctx context.Context, n int64, fn func()) error {
	if err := b.Take(ctx, n); err != nil {
		return err
	}
	go func() {
		defer b.Give(n)
		fn()
	}()
	return nil
}
