package lockmap_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"quartet/kit/lockmap"
)

// race lets a waiter of the held key "k" be granted and cancelled at the same
// time, with what behind queues after it. Whoever ends up with the lock gives
// it back.
func race(t *testing.T, m *lockmap.Map[string], behind func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() {
		if err := m.Lock(ctx, "k"); err == nil {
			m.Unlock("k")
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("Lock = %v", err)
		}
	})
	for m.Stats().Waiting == 0 {
		runtime.Gosched() // to the waiter, which has nothing else to wait for
	}
	behind()
	both.Go(cancel)
	both.Go(func() { m.Unlock("k") })
	both.Wait()
}

func TestCancelAgainstGrantNeverLosesTheLock(t *testing.T) {
	m := newMap()
	for range 2000 {
		lock(t, m, "k")
		race(t, m, func() {})
		if !m.TryLock("k") {
			t.Fatal("the lock was lost between a grant and a cancellation")
		}
		m.Unlock("k")
	}
	checkIdle(t, m)
}

func TestWaiterCancelledBeforeTheGrantNeverGetsTheLock(t *testing.T) {
	m := newMap()
	for range 2000 {
		lock(t, m, "k")
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- m.Lock(ctx, "k") }()
		for m.Stats().Waiting == 0 {
			runtime.Gosched()
		}
		cancel()
		m.Unlock("k") // may well come before the waiter looks at its context
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Fatalf("Lock = %v after its context was done, want Canceled", err)
		}
	}
	checkIdle(t, m)
}

// The entry of a key comes and goes all the time here, while others find it.
func TestEntryIsNeverDroppedUnderItsFinder(t *testing.T) {
	m := newMap()
	inside, total := 0, 0 // plain: the race detector watches the lock's work
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5000 {
				lock(t, m, "k")
				if inside++; inside != 1 {
					t.Errorf("%d holders at once", inside)
				}
				total++
				inside--
				m.Unlock("k")
			}
		})
	}
	group.Wait()
	if total != 20_000 {
		t.Errorf("total = %d, want 20000", total)
	}
	checkIdle(t, m)
}

// storm is what the goroutines of TestStorm share.
type storm struct {
	m      *lockmap.Map[int]
	inside [8]int // plain, each guarded by its key's lock
	count  [8]int
	queued sync.WaitGroup
}

// hold is the critical section of key; it unlocks.
func (s *storm) hold(t *testing.T, key int) {
	if s.inside[key]++; s.inside[key] != 1 {
		t.Errorf("%d holders of key %d at once", s.inside[key], key)
	}
	s.count[key]++
	s.inside[key]--
	s.m.Unlock(key)
}

// step does one random operation.
func (s *storm) step(t *testing.T, r *rand.Rand) {
	key := r.IntN(len(s.inside))
	switch r.IntN(4) {
	case 0:
		if s.m.TryLock(key) {
			s.hold(t, key)
		}
	case 1:
		s.queued.Add(1)
		err := s.m.Queue(key, func() { s.hold(t, key); s.queued.Done() })
		if err != nil {
			s.queued.Done()
		}
	default:
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if r.IntN(2) == 0 {
			go cancel()
		}
		if s.m.Lock(ctx, key) == nil {
			s.hold(t, key)
		}
	}
}

func TestStormLeavesNothingBehind(t *testing.T) {
	s := &storm{m: lockmap.New[int]("storm", lockmap.Options{MaxWaiters: 40})}
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range 300 {
				s.step(t, r)
			}
		})
	}
	group.Wait()
	s.queued.Wait()
	checkIdle(t, s.m)
	for key, n := range s.count {
		if n == 0 {
			t.Errorf("key %d was never held", key)
		}
		if !s.m.TryLock(key) {
			t.Errorf("key %d is not free at the end", key)
		}
	}
}
