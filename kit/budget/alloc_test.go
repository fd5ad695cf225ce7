//go:build !race

// The race detector makes sync.Pool forget at random.

package budget_test

import (
	"context"
	"runtime"
	"testing"

	"quartet/kit/budget"
)

func TestUncontendedUseDoesNotAllocate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plain := budget.New("test", 8, budget.Options{})
	reclaim := budget.New("test", 8, budget.Options{Reclaim: true})
	acquire := func(b *budget.Budget) func() {
		return func() {
			lease, err := b.Acquire(ctx, 3)
			if err != nil {
				t.Error(err)
			}
			lease.Release()
		}
	}
	try := func(b *budget.Budget) func() {
		return func() {
			lease, ok := b.TryAcquire(3)
			if !ok {
				t.Error("three of eight are not to be had")
			}
			defer lease.Release()
		}
	}
	for name, do := range map[string]func(){
		"Acquire":                acquire(plain),
		"Acquire, reclaiming":    acquire(reclaim),
		"TryAcquire":             try(plain),
		"TryAcquire, reclaiming": try(reclaim),
		"TryAcquire of too much": func() { plain.TryAcquire(9) },
		"Take and Give":          func() { _ = plain.Take(ctx, 3); plain.Give(3) },
		"TryTake and Give":       func() { _ = plain.TryTake(3) && give(plain, 3) },
		"Stats":                  func() { _ = plain.Stats() },
		"Resize":                 func() { plain.Resize(9); plain.Resize(8) },
		"nothing":                func() { _ = plain.Take(ctx, 0); plain.Give(0) },
	} {
		if got := testing.AllocsPerRun(1000, do); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
	checkIdle(t, plain)
	checkIdle(t, reclaim)
}

func give(b *budget.Budget, n int64) bool {
	b.Give(n)
	return true
}

// TestWaitingDoesNotAllocate hands one unit to and fro between two goroutines,
// of which one at least has to queue for it each time.
func TestWaitingDoesNotAllocate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := budget.New("test", 1, budget.Options{})
	mustTake(t, b, 1)
	turn, done := make(chan struct{}), make(chan struct{})
	go func() {
		for range turn {
			if err := b.Take(ctx, 1); err != nil {
				t.Error(err)
			}
			b.Give(1)
			done <- struct{}{}
		}
	}()
	defer close(turn)
	got := testing.AllocsPerRun(200, func() {
		turn <- struct{}{}
		for b.Stats().Waiting == 0 {
			runtime.Gosched()
		}
		b.Give(1)
		if err := b.Take(ctx, 1); err != nil {
			t.Error(err)
		}
		<-done
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
	if got := b.Stats().Waited; got < 200 {
		t.Errorf("only %d of 200 waited", got)
	}
	b.Give(1)
	checkIdle(t, b)
}
