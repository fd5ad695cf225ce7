// Package budget measures kit/budget beside what one would take instead.
//
// The peers do less. A channel has no weights, and a select on it acquires half
// the time when the context is already done. The semaphore of x/sync is
// weighted, in order, and takes a context, but lets a request for more than its
// size wait, and has no lease, no resize, no close, no counts. For spawning:
// conc's pool reuses its goroutines and, like errgroup, takes no context while
// it waits (errgroup then runs the function after all); neither has weights nor
// promises an order.
//
// Judge by cpu-ns/op, the least of at least seven runs:
//
//	GOWORK=off go test -run '^$' -bench . -count 7 ./budget
package budget

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"quartet/kit/bench/cpu"
	"quartet/kit/budget"
)

// peers are the limiters by name. Each makes one of the given capacity and
// returns what takes a unit, runs the work, and gives the unit back.
var peers = []struct {
	name string
	make func(capacity int64) func(ctx context.Context, work func())
}{
	{"quartet", leased(budget.Options{})},
	{"quartet-reclaim", leased(budget.Options{Reclaim: true})},
	{"quartet-take", taken},
	{"xsync", xsync},
	{"chan", channel},
}

func leased(o budget.Options) func(int64) func(context.Context, func()) {
	return func(capacity int64) func(context.Context, func()) {
		b := budget.New("bench", capacity, o)
		return func(ctx context.Context, work func()) {
			lease, err := b.Acquire(ctx, 1)
			if err != nil {
				panic(err)
			}
			work()
			lease.Release()
		}
	}
}

func taken(capacity int64) func(context.Context, func()) {
	b := budget.New("bench", capacity, budget.Options{})
	return func(ctx context.Context, work func()) {
		if err := b.Take(ctx, 1); err != nil {
			panic(err)
		}
		work()
		b.Give(1)
	}
}

func xsync(capacity int64) func(context.Context, func()) {
	s := semaphore.NewWeighted(capacity)
	return func(ctx context.Context, work func()) {
		if err := s.Acquire(ctx, 1); err != nil {
			panic(err)
		}
		work()
		s.Release(1)
	}
}

func channel(capacity int64) func(context.Context, func()) {
	c := make(chan struct{}, capacity)
	return func(ctx context.Context, work func()) {
		select {
		case c <- struct{}{}:
		case <-ctx.Done():
			panic(ctx.Err())
		}
		work()
		<-c
	}
}

func nothing() {}

// BenchmarkUncontended is one goroutine that always finds a unit.
func BenchmarkUncontended(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			do := p.make(1 << 10)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			b.ReportAllocs()
			defer cpu.PerOp(b)()
			for b.Loop() {
				do(ctx, nothing)
			}
		})
	}
}

// BenchmarkParallel2 is two goroutines that always find a unit, and meet only
// in the memory of the limiter.
func BenchmarkParallel2(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			crowd(b, 2, p.make(1<<10), nothing)
		})
	}
}

// BenchmarkContended64over4 is 64 goroutines for 4 units, each held for a
// moment of work.
func BenchmarkContended64over4(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			crowd(b, 64, p.make(4), func() { runtime.KeepAlive(spin(50)) })
		})
	}
}

// BenchmarkQueued64over4 is the same with the units held across a yield, so
// that nearly every request queues and is handed its unit.
func BenchmarkQueued64over4(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			crowd(b, 64, p.make(4), runtime.Gosched)
		})
	}
}

// crowd shares b.N operations among a number of goroutines.
func crowd(b *testing.B, goroutines int, do func(context.Context, func()), work func()) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	defer cpu.PerOp(b)()
	var all sync.WaitGroup
	for i := range goroutines {
		share := b.N / goroutines
		if i < b.N%goroutines {
			share++
		}
		all.Go(func() {
			for range share {
				do(ctx, work)
			}
		})
	}
	all.Wait()
}

//go:noinline
func spin(n int) (x int) {
	for i := range n {
		x += i
	}
	return x
}

// BenchmarkGo spawns a goroutine for each piece of work, of which at most 16
// run at once.
func BenchmarkGo(b *testing.B) {
	const limit = 16
	run := func(name string, start func() (spawn func(func()), wait func())) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer cpu.PerOp(b)()
			spawn, wait := start()
			for b.Loop() {
				spawn(nothing)
			}
			wait()
		})
	}
	run("quartet", func() (func(func()), func()) {
		ctx := context.Background()
		l := budget.New("bench", limit, budget.Options{})
		return func(f func()) { _ = l.Go(ctx, 1, f) }, func() { _ = l.Drain(ctx) }
	})
	run("conc", func() (func(func()), func()) {
		p := pool.New().WithMaxGoroutines(limit)
		return p.Go, p.Wait
	})
	run("errgroup", func() (func(func()), func()) {
		var g errgroup.Group
		g.SetLimit(limit)
		return func(f func()) { g.Go(func() error { f(); return nil }) }, func() { _ = g.Wait() }
	})
	run("xsync", func() (func(func()), func()) {
		ctx := context.Background()
		s := semaphore.NewWeighted(limit)
		return func(f func()) {
			_ = s.Acquire(ctx, 1)
			go func() { defer s.Release(1); f() }()
		}, func() { _ = s.Acquire(ctx, limit) }
	})
	run("chan", func() (func(func()), func()) {
		c := make(chan struct{}, limit)
		return func(f func()) {
				c <- struct{}{}
				go func() { defer func() { <-c }(); f() }()
			}, func() {
				for range limit {
					c <- struct{}{}
				}
			}
	})
}
