package budget_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/budget"
)

// queueUp starts a goroutine that takes n units, and returns when it has them
// or waits.
func queueUp(ctx context.Context, b *budget.Budget, n int64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- b.Take(ctx, n) }()
	synctest.Wait()
	return done
}

func waits(t *testing.T, who string, done <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("%s does not wait: %v", who, err)
	default:
	}
}

func has(t *testing.T, who string, done <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("%s: %v", who, err)
		}
	default:
		t.Fatalf("%s still waits", who)
	}
}

func failed(t *testing.T, who string, done <-chan error, want error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		if !errors.Is(err, want) {
			t.Fatalf("%s: %v, want %v", who, err, want)
		}
	default:
		t.Fatalf("%s still waits", who)
	}
}

func TestWaitersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New("test", 1, budget.Options{})
		mustTake(t, b, 1)
		var order []int // guarded by the one unit
		for i := range 50 {
			go func() {
				if err := b.Take(t.Context(), 1); err != nil {
					t.Error(err)
				}
				order = append(order, i)
				b.Give(1)
			}()
			synctest.Wait()
		}
		b.Give(1)
		synctest.Wait()
		if len(order) != 50 || !slices.IsSorted(order) {
			t.Errorf("served in the order %v", order)
		}
		if got := b.Stats().Waited; got != 50 {
			t.Errorf("%d waited, want 50", got)
		}
		checkIdle(t, b)
	})
}

// golang/go#56910 is about this being so, and not being said: the small one
// waits, because otherwise the large one might do so for ever.
func TestSmallRequestDoesNotPassALargeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New("test", 4, budget.Options{})
		mustTake(t, b, 2)
		large := queueUp(t.Context(), b, 4)
		small := queueUp(t.Context(), b, 1)
		waits(t, "the large one", large)
		waits(t, "the small one, for which two units are free", small)
		if b.TryTake(1) {
			t.Error("TryTake passed two who wait")
		}
		if _, ok := b.TryAcquire(1); ok {
			t.Error("TryAcquire passed two who wait")
		}
		b.Give(2)
		has(t, "the large one", large)
		waits(t, "the small one", small)
		b.Give(4)
		has(t, "the small one", small)
		b.Give(1)
		checkIdle(t, b)
	})
}

// golang/go#37852: units were free, and the waiter behind one that gave up
// slept on.
func TestAbandonedHeadOfTheQueueLetsTheNextGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New("test", 4, budget.Options{})
		mustTake(t, b, 2)
		ctx, cancel := context.WithCancel(t.Context())
		large := queueUp(ctx, b, 4)
		first := queueUp(t.Context(), b, 1)
		second := queueUp(t.Context(), b, 1)
		third := queueUp(t.Context(), b, 1)
		cancel()
		failed(t, "the large one", large, context.Canceled)
		has(t, "the first behind it", first)
		has(t, "the second behind it", second)
		waits(t, "the third, for which nothing is left", third)
		b.Give(1)
		has(t, "the third", third)
		b.Give(4)
		checkIdle(t, b)
	})
}

func TestWaiterGivesUpInTheMiddleOfTheQueue(t *testing.T) {
	for _, gone := range [][]int{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {2, 1, 0}} {
		t.Run(fmt.Sprint(gone), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New("test", 1, budget.Options{})
				mustTake(t, b, 1)
				var waiting [3]<-chan error
				var cancel [3]context.CancelFunc
				for i := range waiting {
					var ctx context.Context
					ctx, cancel[i] = context.WithCancel(t.Context())
					defer cancel[i]()
					waiting[i] = queueUp(ctx, b, 1)
				}
				for _, i := range gone {
					cancel[i]()
					failed(t, fmt.Sprint("waiter ", i), waiting[i], context.Canceled)
				}
				for i := range waiting {
					if slices.Contains(gone, i) {
						continue
					}
					b.Give(1)
					has(t, fmt.Sprint("waiter ", i), waiting[i])
				}
				b.Give(1)
				checkIdle(t, b)
			})
		})
	}
}

func TestWaitEndsWithTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hooked []time.Duration
		b := budget.New("slots", 1, budget.Options{OnWait: func(_ context.Context, waited time.Duration) {
			hooked = append(hooked, waited)
		}})
		mustTake(t, b, 1)
		ahead := queueUp(t.Context(), b, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		err := b.Take(ctx, 1)
		if got := time.Since(start); got != 3*time.Second {
			t.Errorf("waited %v, want 3s", got)
		}
		if want := "budget slots: queued behind 1: context deadline exceeded"; err == nil || err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is not DeadlineExceeded", err)
		}
		time.Sleep(time.Second)
		b.Give(1)
		has(t, "the one ahead", ahead)
		b.Give(1)
		if want := []time.Duration{3 * time.Second, 4 * time.Second}; !slices.Equal(hooked, want) {
			t.Errorf("OnWait heard of %v, want %v", hooked, want)
		}
		if s := b.Stats(); s.Waited != 2 || s.Rejected != (budget.Rejected{Deadline: 1}) {
			t.Errorf("counted %+v", s)
		}
		checkIdle(t, b)
	})
}

func TestOnWaitGetsTheContextAndOnlyOfThoseWhoWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var heard []any
		b := budget.New("test", 1, budget.Options{OnWait: func(ctx context.Context, _ time.Duration) {
			heard = append(heard, ctx.Value(key{}))
		}})
		mustTake(t, b, 1)
		waiting := queueUp(context.WithValue(t.Context(), key{}, "mine"), b, 1)
		b.Give(1)
		has(t, "the waiter", waiting)
		b.Give(1)
		if len(heard) != 1 || heard[0] != "mine" {
			t.Errorf("heard %v", heard)
		}
	})
}

// golang/go#63615: with both ways open, select picks either.
func TestContextThatEndsWithTheGrantDoesNotAcquire(t *testing.T) {
	// On one processor the waiter hardly ever runs between the two events.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, cancelFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("cancel first ", cancelFirst), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New("test", 1, budget.Options{})
				refused := 0
				for range 200 {
					mustTake(t, b, 1)
					ctx, cancel := context.WithCancel(t.Context())
					first := queueUp(ctx, b, 1)
					next := queueUp(t.Context(), b, 1)
					if cancelFirst {
						cancel()
						b.Give(1)
					} else {
						b.Give(1)
						cancel()
					}
					switch err := <-first; {
					case errors.Is(err, context.Canceled):
						refused++
					case err != nil || cancelFirst:
						t.Fatalf("got %v, want Canceled", err)
					default: // it had the unit before its context ended
						b.Give(1)
					}
					has(t, "the next", next)
					b.Give(1)
				}
				if refused == 0 {
					t.Error("a context that had ended got the unit, 200 times")
				}
				checkIdle(t, b)
			})
		})
	}
}

func TestGrowingServesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New("test", 1, budget.Options{})
		mustTake(t, b, 1)
		first, second := queueUp(t.Context(), b, 1), queueUp(t.Context(), b, 1)
		b.Resize(2)
		has(t, "the first", first)
		waits(t, "the second", second)
		b.Resize(3)
		has(t, "the second", second)
		b.Give(3)
		checkIdle(t, b)
	})
}

func TestShrinkingTakesNothingBackAndGrantsNothingMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New("test", 4, budget.Options{})
		mustTake(t, b, 4)
		b.Resize(2)
		if s := b.Stats(); s.InUse != 4 || s.Capacity != 2 {
			t.Errorf("%d of %d in use, want 4 of 2", s.InUse, s.Capacity)
		}
		one := queueUp(t.Context(), b, 1)
		b.Give(2)
		waits(t, "a request while two of two are out", one)
		b.Give(1)
		has(t, "the request", one)
		mustPanic(t, "Give of more than is out", func() { b.Give(3) })
		b.Give(2)
		checkIdle(t, b)
	})
}

func TestShrinkingFailsThoseWhoCanNeverFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New("test", 4, budget.Options{})
		mustTake(t, b, 1)
		large := queueUp(t.Context(), b, 4)
		small := queueUp(t.Context(), b, 1)
		b.Resize(2)
		failed(t, "the one that wants four of two", large, budget.ErrTooLarge)
		has(t, "the one behind it", small)
		b.Resize(0)
		b.Give(2)
		if err := b.Take(t.Context(), 1); !errors.Is(err, budget.ErrTooLarge) {
			t.Errorf("got %v, want ErrTooLarge", err)
		}
		if got := b.Stats().Rejected; got != (budget.Rejected{TooLarge: 2}) {
			t.Errorf("counted %+v", got)
		}
		b.Resize(1)
		checkIdle(t, b)
	})
}

func TestCloseFailsWaitersAndLeavesLeasesValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New("test", 2, budget.Options{})
		lease, err := b.Acquire(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		first, second := queueUp(t.Context(), b, 2), queueUp(t.Context(), b, 1)
		b.Close()
		b.Close()
		failed(t, "the first waiter", first, budget.ErrClosed)
		failed(t, "the second waiter", second, budget.ErrClosed)
		if _, err := b.Acquire(t.Context(), 1); !errors.Is(err, budget.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		if b.TryTake(1) {
			t.Error("took a unit of a closed budget")
		}
		b.Resize(5)
		lease.Release()
		s := b.Stats()
		if s.InUse != 0 || s.Waiting != 0 || s.Rejected != (budget.Rejected{Closed: 3, Full: 1}) {
			t.Errorf("left %+v", s)
		}
	})
}

func TestDrainWaitsForTheLastLease(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New("slots", 3, mode.options)
				first, _ := b.TryAcquire(1)
				second, _ := b.TryAcquire(2)
				drained := make(chan error, 2)
				for range 2 {
					go func() { drained <- b.Drain(t.Context()) }()
				}
				waits(t, "Drain with three out", drained)
				second.Release()
				waits(t, "Drain with one out", drained)
				b.Resize(1)
				b.Resize(4)
				waits(t, "Drain after a Resize", drained)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := b.Drain(ctx)
				if want := "drain budget slots: 1 in use: context deadline exceeded"; err == nil || err.Error() != want {
					t.Errorf("got %v, want %v", err, want)
				}
				first.Release()
				has(t, "Drain", drained)
				has(t, "the other Drain", drained)
				if err := b.Drain(ctx); err != nil {
					t.Errorf("nothing to wait for, and yet %v", err)
				}
			})
		})
	}
}

func TestDrainOfAnIdleBudgetReturnsAtOnce(t *testing.T) {
	b := budget.New("test", 3, budget.Options{})
	if err := b.Drain(within(t)); err != nil {
		t.Error(err)
	}
}
