package budget_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quartet/kit/budget"
)

// TestStorm lets thousands of goroutines acquire, try, give up and release
// while the capacity changes under them. Whatever the interleaving, never is
// more out than the largest capacity, and at the end nothing is and nobody
// waits.
func TestStorm(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			const goroutines, rounds, least, most = 2000, 20, 4, 16
			var out, heard atomic.Int64
			options := mode.options
			options.OnWait = func(context.Context, time.Duration) { heard.Add(1) }
			b := budget.New("test", most, options)
			ctx := within(t)

			hold := func(n int64) {
				if now := out.Add(n); now > most {
					t.Errorf("%d out of %d", now, most)
				}
			}
			round := func(r *rand.Rand) {
				n := 1 + r.Int64N(least) // fits however small the capacity is
				mine, cancel := ctx, context.CancelFunc(func() {})
				if r.IntN(2) == 0 {
					mine, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(2000))*time.Microsecond)
				}
				defer cancel()
				switch r.IntN(4) {
				case 0:
					if lease, ok := b.TryAcquire(n); ok {
						hold(n)
						out.Add(-n)
						lease.Release()
					}
				case 1:
					if err := b.Take(mine, n); err == nil {
						hold(n)
						out.Add(-n)
						b.Give(n)
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				default:
					lease, err := b.Acquire(mine, n)
					if err == nil {
						hold(n)
						out.Add(-n)
						lease.Release()
						lease.Release()
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				}
				if mine == ctx && ctx.Err() != nil {
					t.Error("a request without a deadline of its own was not served")
				}
			}

			var all sync.WaitGroup
			for i := range goroutines {
				all.Go(func() {
					r := rand.New(rand.NewPCG(uint64(i), 1))
					for range rounds {
						round(r)
					}
				})
			}
			stop := make(chan struct{})
			var resizer sync.WaitGroup
			resizer.Go(func() {
				r := rand.New(rand.NewPCG(2, 2))
				for {
					select {
					case <-stop:
						return
					default:
						b.Resize(least + r.Int64N(most-least+1))
						if s := b.Stats(); s.InUse < 0 || s.InUse > most {
							t.Errorf("%d in use of %d", s.InUse, s.Capacity)
						}
					}
				}
			})
			all.Wait()
			close(stop)
			resizer.Wait()
			if got := out.Load(); got != 0 {
				t.Errorf("%d still out", got)
			}
			if s := b.Stats(); s.Reclaimed != 0 || uint64(heard.Load()) != s.Waited {
				t.Errorf("%d heard of, %+v", heard.Load(), s)
			}
			b.Resize(most)
			checkIdle(t, b)
		})
	}
}

// TestGiveThatMeetsATakeServesIt lets one goroutine give the only unit back in
// the moment in which another finds it taken and is about to queue. Each round
// moves the two events a little against each other.
func TestGiveThatMeetsATakeServesIt(t *testing.T) {
	const rounds = 100_000
	b := budget.New("test", 1, budget.Options{})
	mustTake(t, b, 1)
	ctx := within(t)
	var started, ended atomic.Int64
	var taker sync.WaitGroup
	taker.Go(func() {
		defer ended.Store(rounds)
		for i := range int64(rounds) {
			for started.Load() <= i {
				runtime.Gosched()
			}
			if err := b.Take(ctx, 1); err != nil {
				t.Errorf("round %d: %v", i, err)
				return
			}
			ended.Store(i + 1)
		}
	})
	for i := range int64(rounds) {
		started.Store(i + 1)
		for range i % 200 {
			started.Load() // a little later each time
		}
		b.Give(1)
		for ended.Load() <= i {
			runtime.Gosched()
		}
		if t.Failed() {
			break
		}
	}
	taker.Wait()
	if !t.Failed() {
		b.Give(1)
		checkIdle(t, b)
	}
}

func TestCloseDuringAStormStrandsNobody(t *testing.T) {
	for i := range 50 {
		b := budget.New("test", 3, budget.Options{})
		ctx := within(t)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for {
					err := b.Take(ctx, 1)
					if errors.Is(err, budget.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					b.Give(1)
				}
			})
		}
		if i%2 == 0 {
			eventually(t, "somebody waits", func() bool { return b.Stats().Waited > 0 })
		}
		if err := b.Drain(ctx); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		if s := b.Stats(); s.InUse != 0 || s.Waiting != 0 {
			t.Fatalf("left %+v", s)
		}
	}
}
