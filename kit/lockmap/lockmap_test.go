package lockmap_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/lockmap"
)

func newMap() *lockmap.Map[string] {
	return lockmap.New[string]("test", lockmap.Options{})
}

// lock takes a key that must be had.
func lock[K comparable](t *testing.T, m *lockmap.Map[K], key K) {
	t.Helper()
	if err := m.Lock(t.Context(), key); err != nil {
		t.Fatalf("Lock(%v) = %v", key, err)
	}
}

// checkIdle is the invariant at the end of a test: nothing held, nothing left.
func checkIdle[K comparable](t *testing.T, m *lockmap.Map[K]) {
	t.Helper()
	if s := m.Stats(); s.Entries != 0 || s.Waiting != 0 {
		t.Errorf("at the end Entries = %d, Waiting = %d, want none", s.Entries, s.Waiting)
	}
}

func TestWaitersGetTheLockInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMap()
		lock(t, m, "k")
		var got []int // guarded by the lock of "k"
		for i := range 50 {
			go func() {
				lock(t, m, "k")
				got = append(got, i)
				m.Unlock("k")
			}()
			synctest.Wait() // i has taken its place
		}
		if s := m.Stats(); s.Entries != 1 || s.Waiting != 50 {
			t.Errorf("Stats = %+v, want 1 entry and 50 waiting", s)
		}
		m.Unlock("k")
		synctest.Wait()
		if len(got) != 50 || !slices.IsSorted(got) {
			t.Errorf("order of the lock = %v", got)
		}
		checkIdle(t, m)
	})
}

func TestUnlockerDoesNotBargeBackIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMap()
		lock(t, m, "k")
		go func() {
			lock(t, m, "k")
			time.Sleep(time.Second)
			m.Unlock("k")
		}()
		synctest.Wait()
		m.Unlock("k")
		if m.TryLock("k") {
			t.Fatal("TryLock overtook a waiter")
		}
		began := time.Now()
		lock(t, m, "k")
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("the unlocker waited %v, want the waiter's whole second", waited)
		}
		m.Unlock("k")
		checkIdle(t, m)
	})
}

func TestDoneContextNeverLocksAFreeKey(t *testing.T) {
	m := newMap()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 1000 {
		if err := m.Lock(ctx, "k"); !errors.Is(err, context.Canceled) {
			t.Fatalf("Lock = %v, want Canceled", err)
		}
	}
	checkIdle(t, m)
}

func TestErrorWrapsContextErrorAndCause(t *testing.T) {
	m := newMap()
	lock(t, m, "k")
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	err := m.Lock(ctx, "k")
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("Lock = %v, want both Canceled and its cause", err)
	}
	m.Unlock("k")
	checkIdle(t, m)
}

func TestCancelledWaiterLeavesTheQueue(t *testing.T) {
	for _, leaver := range []int{0, 1, 2} { // the first, a middle, the last of the queue
		synctest.Test(t, func(t *testing.T) {
			m := newMap()
			lock(t, m, "k")
			var cancels [3]context.CancelFunc
			var got []int
			for i := range cancels {
				var ctx context.Context
				ctx, cancels[i] = context.WithCancel(t.Context())
				defer cancels[i]()
				go func() {
					if err := m.Lock(ctx, "k"); err != nil {
						return
					}
					got = append(got, i)
					m.Unlock("k")
				}()
				synctest.Wait()
			}
			cancels[leaver]()
			synctest.Wait()
			if s := m.Stats(); s.Waiting != 2 {
				t.Errorf("after %d left: Waiting = %d, want 2", leaver, s.Waiting)
			}
			m.Unlock("k")
			synctest.Wait()
			if want := slices.Delete([]int{0, 1, 2}, leaver, leaver+1); !slices.Equal(got, want) {
				t.Errorf("after %d left: order = %v, want %v", leaver, got, want)
			}
			checkIdle(t, m)
		})
	}
}

func TestDeadlineEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMap()
		lock(t, m, "k")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if err := m.Lock(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock = %v, want DeadlineExceeded", err)
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("waited %v, want 3s", waited)
		}
		m.Unlock("k")
		checkIdle(t, m)
	})
}

func TestGrantToACancelledWaiterGoesToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMap()
		lock(t, m, "k")
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { first <- m.Lock(ctx, "k") }()
		synctest.Wait()
		second := make(chan error, 1)
		go func() { second <- m.Lock(t.Context(), "k") }()
		synctest.Wait()

		m.Unlock("k") // the first is granted, and done before it can look
		cancel()
		if err := <-first; err == nil {
			// It ran between the two lines above: it must hold the lock then.
			m.Unlock("k")
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("first: Lock = %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("second: Lock = %v, want the lock", err)
		}
		m.Unlock("k")
		checkIdle(t, m)
	})
}

func TestCapCountsWaitersExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 3
		m := lockmap.New[string]("commands", lockmap.Options{MaxWaiters: limit})
		lock(t, m, "k")
		ctx, cancel := context.WithCancel(t.Context())
		for range limit {
			go func() {
				if err := m.Lock(ctx, "k"); !errors.Is(err, context.Canceled) {
					t.Errorf("waiter within the cap: %v", err)
				}
			}()
		}
		synctest.Wait()
		err := m.Lock(t.Context(), "k")
		if !errors.Is(err, lockmap.ErrBusy) || err.Error() != "lock commands: too many waiters" {
			t.Errorf("Lock over the cap = %v, want ErrBusy with the name", err)
		}
		if err := m.Queue("k", func() { t.Error("a rejected function ran") }); !errors.Is(err, lockmap.ErrBusy) {
			t.Errorf("Queue over the cap = %v, want ErrBusy", err)
		}
		lock(t, m, "other") // the cap is each key's own
		m.Unlock("other")
		if s := m.Stats(); s.Rejected != 2 || s.Waiting != limit {
			t.Errorf("Stats = %+v, want 2 rejected and %d waiting", s, limit)
		}

		cancel() // those who leave make room
		synctest.Wait()
		ran := false
		if err := m.Queue("k", func() { ran = true; m.Unlock("k") }); err != nil {
			t.Errorf("Queue after room was made = %v", err)
		}
		m.Unlock("k")
		if !ran {
			t.Error("the queued function did not run")
		}
		checkIdle(t, m)
	})
}

func TestNegativeCapPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New took a negative MaxWaiters")
		}
	}()
	lockmap.New[string]("x", lockmap.Options{MaxWaiters: -1})
}

// One goroutine that holds many keys must never meet itself: with locks picked
// by hash it would as soon as two of its keys collide.
func TestOneGoroutineHoldsAnyNumberOfKeys(t *testing.T) {
	m := lockmap.New[int]("test", lockmap.Options{})
	const n = 20_000
	for key := range n {
		if !m.TryLock(key) {
			t.Fatalf("key %d of the same goroutine is taken", key)
		}
	}
	if s := m.Stats(); s.Entries != n {
		t.Errorf("Entries = %d, want %d", s.Entries, n)
	}
	for key := range n {
		if m.TryLock(key) {
			t.Fatalf("key %d was locked twice", key)
		}
		m.Unlock(key)
	}
	checkIdle(t, m)
}

func TestProbeLeavesNoEntry(t *testing.T) {
	m := newMap()
	lock(t, m, "held")
	for range 100 {
		if m.TryLock("held") {
			t.Fatal("TryLock took a held key")
		}
		m.Stats()
	}
	if s := m.Stats(); s.Entries != 1 {
		t.Errorf("Entries = %d after probes, want 1", s.Entries)
	}
	m.Unlock("held")
	checkIdle(t, m)
	if !m.TryLock("held") {
		t.Error("TryLock refused a free key")
	}
	m.Unlock("held")
	checkIdle(t, m)
}

func TestUnlockOfAFreeKeyPanics(t *testing.T) {
	m := newMap()
	unlock := func() (panicked bool) {
		defer func() { panicked = recover() != nil }()
		m.Unlock("k")
		return false
	}
	if !unlock() {
		t.Error("Unlock of a key never locked did not panic")
	}
	lock(t, m, "k")
	m.Unlock("k")
	if !unlock() {
		t.Error("the second Unlock did not panic")
	}
	lock(t, m, "k") // and the map still works
	m.Unlock("k")
	checkIdle(t, m)
}

func TestStructAndInterfaceKeysWork(t *testing.T) {
	type id struct {
		group string
		n     int
	}
	m := lockmap.New[any]("test", lockmap.Options{})
	for _, key := range []any{id{"a", 1}, id{"a", 2}, "a", 1, int64(1), [2]string{"a", "b"}} {
		lock(t, m, key)
		defer m.Unlock(key)
	}
	if m.TryLock(id{"a", 2}) {
		t.Error("an equal key was locked twice")
	}
}

func TestUncontendedLockDoesNotAllocate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	text := newMap()
	type pair struct{ a, b string }
	pairs := lockmap.New[pair]("test", lockmap.Options{})
	hooked := lockmap.New[int64]("test", lockmap.Options{
		MaxWaiters: 1, OnHold: func(time.Duration) {}, OnWait: func(time.Duration) {},
	})
	for name, once := range map[string]func(){
		"string":  func() { lock1(ctx, text, "k") },
		"struct":  func() { lock1(ctx, pairs, pair{"a", "b"}) },
		"hooked":  func() { lock1(ctx, hooked, 1<<40) },
		"trylock": func() { text.TryLock("k"); text.Unlock("k") },
		"queue":   func() { _ = text.Queue("k", nothing); text.Unlock("k") },
	} {
		if n := testing.AllocsPerRun(1000, once); n != 0 {
			t.Errorf("%s: %v allocations a lock, want 0", name, n)
		}
	}
}

func lock1[K comparable](ctx context.Context, m *lockmap.Map[K], key K) {
	if err := m.Lock(ctx, key); err == nil {
		m.Unlock(key)
	}
}

func nothing() {}
