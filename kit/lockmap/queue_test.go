package lockmap_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"quartet/kit/lockmap"
)

func TestQueueRunsAtOnceWhenTheKeyIsFree(t *testing.T) {
	m := newMap()
	ran := 0
	if err := m.Queue("k", func() { ran++ }); err != nil {
		t.Fatal(err)
	}
	if ran != 1 || m.TryLock("k") {
		t.Errorf("ran %d times, want once and with the lock held", ran)
	}
	m.Unlock("k")
	checkIdle(t, m)
}

func TestQueueAndLockShareOneOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMap()
		lock(t, m, "k")
		var got []int
		for i := range 20 {
			if i%3 == 0 {
				go func() {
					lock(t, m, "k")
					got = append(got, i)
					m.Unlock("k")
				}()
			} else if err := m.Queue("k", func() { got = append(got, i); m.Unlock("k") }); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		m.Unlock("k")
		synctest.Wait()
		if len(got) != 20 || !slices.IsSorted(got) {
			t.Errorf("order of the lock = %v", got)
		}
		checkIdle(t, m)
	})
}

func TestQueuedFunctionRunsWithinUnlock(t *testing.T) {
	m := newMap()
	lock(t, m, "k")
	ran := false
	if err := m.Queue("k", func() { ran = true }); err != nil {
		t.Fatal(err)
	}
	if ran {
		t.Fatal("the function ran while the key was held")
	}
	m.Unlock("k")
	if !ran {
		t.Fatal("the function did not run before Unlock returned")
	}
	if m.TryLock("k") {
		t.Error("the key is free though the function did not unlock it")
	}
	m.Unlock("k")
	checkIdle(t, m)
}

func TestCancelledWaiterPassesTheLockToAQueuedFunction(t *testing.T) {
	m := newMap()
	for range 300 {
		lock(t, m, "k")
		race(t, m, func() {
			if err := m.Queue("k", func() { m.Unlock("k") }); err != nil {
				t.Error(err)
			}
		})
		checkIdle(t, m)
	}
}

// A granted function may do with the map what it likes, its own key included.
func TestGrantedFunctionMayUseTheMap(t *testing.T) {
	tests := map[string]func(t *testing.T, m *lockmap.Map[string]){
		"unlock and lock again": func(t *testing.T, m *lockmap.Map[string]) {
			m.Unlock("k")
			lock(t, m, "k")
			m.Unlock("k")
		},
		"queue itself behind": func(t *testing.T, m *lockmap.Map[string]) {
			if err := m.Queue("k", func() { m.Unlock("k") }); err != nil {
				t.Error(err)
			}
			m.Unlock("k")
		},
		"lock another key": func(t *testing.T, m *lockmap.Map[string]) {
			lock(t, m, "other")
			m.Unlock("other")
			m.Unlock("k")
		},
		"look": func(t *testing.T, m *lockmap.Map[string]) {
			if m.TryLock("k") || m.Stats().Entries != 1 {
				t.Error("the function does not hold its key")
			}
			m.Unlock("k")
		},
	}
	for name, granted := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // a deadlock fails the test
				m := newMap()
				lock(t, m, "k")
				ran := 0
				for range 3 {
					if err := m.Queue("k", func() { ran++; granted(t, m) }); err != nil {
						t.Fatal(err)
					}
				}
				m.Unlock("k")
				synctest.Wait()
				if ran != 3 {
					t.Errorf("%d functions ran, want 3", ran)
				}
				checkIdle(t, m)
			})
		})
	}
}

func TestChainOfFunctionsDoesNotGrowTheStack(t *testing.T) {
	const n = 10_000
	m := newMap()
	lock(t, m, "k")
	var got []int // guarded by the lock of "k", as is deepest
	deepest := 0
	frames := make([]uintptr, 8192)
	var done sync.WaitGroup
	done.Add(n)
	for i := range n {
		err := m.Queue("k", func() {
			got = append(got, i)
			deepest = max(deepest, runtime.Callers(0, frames))
			m.Unlock("k")
			done.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	m.Unlock("k")
	done.Wait()
	if !slices.IsSorted(got) {
		t.Error("the functions ran out of order")
	}
	if deepest > 1000 {
		t.Errorf("the stack was %d frames deep for %d functions", deepest, n)
	}
	checkIdle(t, m)
}

func TestPanicInAFunctionLeavesTheMapUsable(t *testing.T) {
	m := newMap()
	for range 200 { // more often than functions may nest
		lock(t, m, "k")
		if err := m.Queue("k", func() { panic("handler") }); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() != "handler" {
					t.Error("the panic did not come out of Unlock")
				}
			}()
			m.Unlock("k")
		}()
		m.Unlock("k") // the function was granted the lock and never gave it back
	}
	checkIdle(t, m)
}

func TestQueueWithoutAFunctionPanics(t *testing.T) {
	m := newMap()
	lock(t, m, "k")
	defer func() {
		if recover() == nil {
			t.Error("Queue took a nil function")
		}
		m.Unlock("k")
		checkIdle(t, m)
	}()
	_ = m.Queue("k", nil)
}
