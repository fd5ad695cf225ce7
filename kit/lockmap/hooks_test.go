package lockmap_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/lockmap"
)

// hooked is a map whose hooks take notes, and use the map as they may.
func hooked(holds, waits *[]time.Duration) *lockmap.Map[string] {
	var m *lockmap.Map[string]
	var mu sync.Mutex // of the notes: a hook runs on whatever goroutine
	note := func(notes *[]time.Duration) func(time.Duration) {
		return func(d time.Duration) {
			m.Stats()
			mu.Lock()
			defer mu.Unlock()
			*notes = append(*notes, d)
		}
	}
	m = lockmap.New[string]("hooked", lockmap.Options{OnHold: note(holds), OnWait: note(waits)})
	return m
}

func TestHooksSeeHoldsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var holds, waits []time.Duration
		m := hooked(&holds, &waits)
		lock(t, m, "k")
		go func() {
			lock(t, m, "k")
			time.Sleep(2 * time.Second)
			m.Unlock("k")
		}()
		synctest.Wait()
		if err := m.Queue("k", func() { time.Sleep(3 * time.Second); m.Unlock("k") }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		m.Unlock("k")
		time.Sleep(10 * time.Second)
		synctest.Wait()

		if want := []time.Duration{1e9, 2e9, 3e9}; !slices.Equal(holds, want) {
			t.Errorf("holds = %v, want %v", holds, want)
		}
		if want := []time.Duration{1e9, 3e9}; !slices.Equal(waits, want) {
			t.Errorf("waits = %v, want %v", waits, want)
		}
		checkIdle(t, m)
	})
}

func TestHooksSeeAWaitGivenUpButNoHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var holds, waits []time.Duration
		m := hooked(&holds, &waits)
		lock(t, m, "k")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if m.Lock(ctx, "k") == nil {
			t.Fatal("a held key was locked")
		}
		if want := []time.Duration{1e9}; !slices.Equal(waits, want) || len(holds) != 0 {
			t.Errorf("waits = %v, holds = %v, want %v and none", waits, holds, want)
		}
		m.Unlock("k")
		checkIdle(t, m)
	})
}

func TestFreeKeyIsNoWait(t *testing.T) {
	var holds, waits []time.Duration
	m := hooked(&holds, &waits)
	lock(t, m, "k")
	m.Unlock("k")
	m.TryLock("k")
	m.Unlock("k")
	if err := m.Queue("k", func() { m.Unlock("k") }); err != nil {
		t.Fatal(err)
	}
	if len(waits) != 0 || len(holds) != 3 {
		t.Errorf("%d waits and %d holds, want 0 and 3", len(waits), len(holds))
	}
}
