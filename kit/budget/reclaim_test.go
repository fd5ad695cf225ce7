package budget_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"quartet/kit/budget"
)

func reclaiming(capacity int64) *budget.Budget {
	return budget.New("test", capacity, budget.Options{Reclaim: true})
}

// lose acquires and forgets.
//
//go:noinline
func lose(t *testing.T, b *budget.Budget, n int64) {
	t.Helper()
	if _, ok := b.TryAcquire(n); !ok {
		t.Fatalf("%d units are not to be had", n)
	}
}

// collected reports, after another collection, whether so many were reclaimed.
func collected(b *budget.Budget, leases uint64) func() bool {
	return func() bool {
		runtime.GC()
		return b.Stats().Reclaimed == leases
	}
}

func TestLostLeaseComesBackAndIsCounted(t *testing.T) {
	b := reclaiming(5)
	lose(t, b, 2)
	lose(t, b, 3)
	if got := b.Stats().InUse; got != 5 {
		t.Fatalf("%d in use before any collection, want 5", got)
	}
	eventually(t, "two leases are reclaimed", collected(b, 2))
	checkIdle(t, b)
}

func TestWaiterGetsTheUnitsOfALostLease(t *testing.T) {
	b := reclaiming(1)
	lose(t, b, 1)
	done := make(chan error)
	go func() { done <- b.Take(within(t), 1) }()
	eventually(t, "the lease is reclaimed", collected(b, 1))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	b.Give(1)
	checkIdle(t, b)
}

func TestDrainEndsWithALostLease(t *testing.T) {
	b := reclaiming(1)
	lose(t, b, 1)
	b.Close()
	eventually(t, "the lease is reclaimed", collected(b, 1))
	if err := b.Drain(within(t)); err != nil {
		t.Error(err)
	}
}

func TestLeaseInReachIsNotReclaimed(t *testing.T) {
	b := reclaiming(2)
	kept := new(budget.Lease)
	*kept, _ = b.TryAcquire(1)
	lose(t, b, 1)
	eventually(t, "the other lease is reclaimed", collected(b, 1))
	for range 3 {
		runtime.GC()
	}
	if s := b.Stats(); s.InUse != 1 || s.Reclaimed != 1 {
		t.Errorf("left %+v", s)
	}
	kept.Release()
	checkIdle(t, b)
}

// The pool lets handles go at collections; theirs is a cleanup too.
func TestReleasedLeaseIsNotReclaimed(t *testing.T) {
	b := reclaiming(4)
	for range 5 {
		var leases [4]budget.Lease
		for i := range leases {
			leases[i], _ = b.TryAcquire(1)
		}
		for i := range leases {
			leases[i].Release()
		}
		runtime.GC()
	}
	lose(t, b, 1) // its cleanup comes after those of all released ones
	eventually(t, "the lost lease is reclaimed", collected(b, 1))
	checkIdle(t, b)
}

func TestCopyOfAReleasedLeaseDoesNotReleaseItsSuccessor(t *testing.T) {
	b := reclaiming(1)
	first, ok := b.TryAcquire(1)
	for range 100 { // under the race detector the pool drops some handles
		if !ok {
			t.Fatal("the unit is not to be had")
		}
		stale := first
		first.Release()
		var second budget.Lease
		if second, ok = b.TryAcquire(1); !ok {
			t.Fatal("the unit did not come back")
		}
		stale.Release()
		if got := b.Stats().InUse; got != 1 {
			t.Fatalf("%d in use, want 1", got)
		}
		first = second
	}
	first.Release()
	checkIdle(t, b)
}

func TestWithoutReclaimALostLeaseStaysLost(t *testing.T) {
	b, watch := budget.New("test", 1, budget.Options{}), reclaiming(1)
	lose(t, b, 1)
	lose(t, watch, 1)
	eventually(t, "the collector has found the one with Reclaim", collected(watch, 1))
	if s := b.Stats(); s.InUse != 1 || s.Reclaimed != 0 {
		t.Errorf("left %+v", s)
	}
}

// TestReclaimStorm releases some leases and loses others while the collector
// runs. Each must come back exactly once.
func TestReclaimStorm(t *testing.T) {
	const goroutines, rounds = 16, 300
	b := reclaiming(goroutines * rounds)
	var lost atomic.Uint64
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			for range rounds {
				lease, err := b.Acquire(within(t), 1)
				if err != nil {
					t.Error(err)
					return
				}
				switch r.IntN(3) {
				case 0:
					lost.Add(1)
				case 1:
					again := lease
					lease.Release()
					again.Release()
				default:
					lease.Release()
				}
			}
		})
	}
	stop := make(chan struct{})
	var collector sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	all.Wait()
	close(stop)
	collector.Wait()
	eventually(t, "all lost leases are reclaimed", collected(b, lost.Load()))
	checkIdle(t, b)
	if got := b.Stats().Reclaimed; got != lost.Load() {
		t.Errorf("%d reclaimed, %d lost", got, lost.Load())
	}
}
