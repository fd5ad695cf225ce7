package budget_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"quartet/kit/budget"
)

func TestUnitsAreTakenAndComeBack(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := budget.New("test", 5, mode.options)
			two, err := b.Acquire(within(t), 2)
			if err != nil {
				t.Fatal(err)
			}
			three, ok := b.TryAcquire(3)
			if !ok {
				t.Fatal("three of five were not to be had beside two")
			}
			if _, ok := b.TryAcquire(1); ok {
				t.Fatal("a sixth unit of five")
			}
			if got := b.Stats().InUse; got != 5 {
				t.Errorf("%d in use, want 5", got)
			}
			two.Release()
			if got := b.Stats().InUse; got != 3 {
				t.Errorf("%d in use after the release of two, want 3", got)
			}
			three.Release()
			checkIdle(t, b)
		})
	}
}

func TestReleaseIsIdempotent(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := budget.New("test", 10, mode.options)
			mustTake(t, b, 7) // so that too much given back would not panic
			for range 200 {
				lease, ok := b.TryAcquire(3)
				if !ok {
					t.Fatal("three units lost")
				}
				var all sync.WaitGroup
				for range 4 {
					all.Go(lease.Release)
				}
				all.Wait()
				lease.Release()
				if got := b.Stats().InUse; got != 7 {
					t.Fatalf("%d in use, want 7", got)
				}
			}
			b.Give(7)
			checkIdle(t, b)
		})
	}
}

func TestZeroLeaseHoldsNothing(t *testing.T) {
	var lease budget.Lease
	lease.Release()
}

func TestLeaseMayBeMoved(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := budget.New("test", 1, mode.options)
			type request struct{ slot budget.Lease }
			requests := make(chan request, 1)
			lease, err := b.Acquire(within(t), 1)
			if err != nil {
				t.Fatal(err)
			}
			requests <- request{slot: lease}
			r := <-requests
			r.slot.Release()
			checkIdle(t, b)
		})
	}
}

// x/sync's semaphore waits for the end of the context instead.
func TestMoreThanTheCapacityFailsAtOnce(t *testing.T) {
	b := budget.New("test", 4, budget.Options{})
	err := b.Take(within(t), 5)
	if !errors.Is(err, budget.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if _, err := b.Acquire(within(t), math.MaxInt64); !errors.Is(err, budget.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	err = b.Go(within(t), 5, func() { t.Error("ran without its units") })
	if !errors.Is(err, budget.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if b.TryTake(5) {
		t.Error("took five of four")
	}
	if got := b.Stats().Rejected; got != (budget.Rejected{TooLarge: 3, Full: 1}) {
		t.Errorf("counted %+v", got)
	}
	checkIdle(t, b)
}

// golang/go#80183: negative weights made a semaphore larger.
func TestNegativeUnitsPanicAndChangeNothing(t *testing.T) {
	b := budget.New("test", 4, budget.Options{})
	mustTake(t, b, 2)
	ctx := within(t)
	for _, n := range []int64{-1, math.MinInt64} {
		mustPanic(t, "Acquire", func() { _, _ = b.Acquire(ctx, n) })
		mustPanic(t, "TryAcquire", func() { b.TryAcquire(n) })
		mustPanic(t, "Take", func() { _ = b.Take(ctx, n) })
		mustPanic(t, "TryTake", func() { b.TryTake(n) })
		mustPanic(t, "Give", func() { b.Give(n) })
		mustPanic(t, "Go", func() { _ = b.Go(ctx, n, func() {}) })
		mustPanic(t, "New", func() { budget.New("test", n, budget.Options{}) })
		mustPanic(t, "Resize", func() { b.Resize(n) })
	}
	if s := b.Stats(); s.InUse != 2 || s.Capacity != 4 {
		t.Errorf("%d of %d in use, want 2 of 4", s.InUse, s.Capacity)
	}
	b.Give(2)
	checkIdle(t, b)
}

func TestCapacityFitsIn62Bits(t *testing.T) {
	const most = 1<<62 - 1
	mustPanic(t, "New", func() { budget.New("test", most+1, budget.Options{}) })
	b := budget.New("test", most, budget.Options{})
	mustPanic(t, "Resize", func() { b.Resize(math.MaxInt64) })
	mustTake(t, b, most)
	b.Resize(0)
	if s := b.Stats(); s.InUse != most || s.Capacity != 0 {
		t.Errorf("%d of %d in use", s.InUse, s.Capacity)
	}
	b.Give(most)
	b.Resize(most)
	checkIdle(t, b)
}

func TestZeroUnitsAreAlwaysThere(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			b := budget.New("test", 1, mode.options)
			mustTake(t, b, 1)
			lease, err := b.Acquire(within(t), 0)
			if err != nil {
				t.Fatal(err)
			}
			lease.Release()
			b.Give(0)
			if !b.TryTake(0) {
				t.Error("nothing was not to be had")
			}
			if got := b.Stats().InUse; got != 1 {
				t.Errorf("%d in use, want 1", got)
			}
			b.Give(1)
			checkIdle(t, b)
			b.Close()
			if err := b.Take(within(t), 0); !errors.Is(err, budget.ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
			if b.TryTake(0) {
				t.Error("took nothing of a closed budget")
			}
		})
	}
}

// In oras-go, PR 363, a release that no acquire preceded took a process down
// after it had corrupted the count.
func TestGivingBackMoreThanTakenPanicsAndChangesNothing(t *testing.T) {
	b := budget.New("test", 4, budget.Options{})
	mustPanic(t, "Give with nothing taken", func() { b.Give(1) })
	mustTake(t, b, 2)
	mustPanic(t, "Give of three with two taken", func() { b.Give(3) })
	mustPanic(t, "Give of everything", func() { b.Give(math.MaxInt64) })
	if got := b.Stats().InUse; got != 2 {
		t.Errorf("%d in use, want 2", got)
	}
	b.Give(2)
	checkIdle(t, b)
	b.Close()
	mustPanic(t, "Give after Close", func() { b.Give(1) })
}

func TestDoneContextNeverAcquires(t *testing.T) {
	b := budget.New("test", 1, budget.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 1000 {
		if _, err := b.Acquire(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want Canceled", err)
		}
	}
	if got := b.Stats().Rejected; got != (budget.Rejected{Canceled: 1000}) {
		t.Errorf("counted %+v", got)
	}
	checkIdle(t, b)
}

func TestErrorsNameTheBudgetAndTheCause(t *testing.T) {
	cause := errors.New("the peer went away")
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	late, cancelLate := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancelLate()
	b := budget.New("slots", 1, budget.Options{})
	shut := budget.New("slots", 1, budget.Options{})
	shut.Close()
	for name, c := range map[string]struct {
		err  error
		want string
		is   []error
	}{
		"cancelled": {b.Take(gone, 1), "budget slots: context canceled: the peer went away", []error{context.Canceled, cause}},
		"late":      {b.Take(late, 1), "budget slots: context deadline exceeded", []error{context.DeadlineExceeded}},
		"too large": {b.Take(t.Context(), 2), "budget slots: 2 of 1 units: more than the capacity", []error{budget.ErrTooLarge}},
		"closed":    {shut.Take(t.Context(), 1), "budget slots: closed", []error{budget.ErrClosed}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.err == nil || c.err.Error() != c.want {
				t.Errorf("got %q, want %q", c.err, c.want)
			}
			for _, is := range c.is {
				if !errors.Is(c.err, is) {
					t.Errorf("%q is not %q", c.err, is)
				}
			}
		})
	}
	if got := b.Stats().Rejected; got != (budget.Rejected{Canceled: 1, Deadline: 1, TooLarge: 1}) {
		t.Errorf("counted %+v", got)
	}
}

func TestGoTakesTheUnitsBeforeItSpawns(t *testing.T) {
	b := budget.New("test", 2, budget.Options{})
	release := make(chan struct{})
	for range 2 {
		if err := b.Go(within(t), 1, func() { <-release }); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.Stats().InUse; got != 2 {
		t.Errorf("%d in use when Go had returned, want 2", got)
	}
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- b.Go(ctx, 1, func() { t.Error("ran though its context ended in the queue") }) }()
	eventually(t, "the third waits", func() bool { return b.Stats().Waiting == 1 })
	if got := runtime.NumGoroutine(); got > before+1 {
		t.Errorf("%d goroutines, want only that of this test beside %d", got, before)
	}
	// golang/go#61611: errgroup stays blocked here, and runs the function.
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
	close(release)
	eventually(t, "the units are back", func() bool { return b.Stats().InUse == 0 })
	checkIdle(t, b)
}

func TestGoGivesBackHoweverTheFunctionEnds(t *testing.T) {
	b := budget.New("test", 3, budget.Options{})
	for name, fn := range map[string]func(){
		"return": func() {},
		"Goexit": runtime.Goexit,
	} {
		if err := b.Go(within(t), 3, fn); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the units are back after "+name, func() bool { return b.Stats().InUse == 0 })
	}
	checkIdle(t, b)
}

func TestStatsTellTheName(t *testing.T) {
	b := budget.New("slots", 3, budget.Options{})
	if got, want := b.Stats(), (budget.Stats{Name: "slots", Capacity: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPanicsNameTheBudget(t *testing.T) {
	defer func() {
		if message, _ := recover().(string); !strings.Contains(message, "budget slots") {
			t.Errorf("panic %q does not name the budget", message)
		}
	}()
	budget.New("slots", 1, budget.Options{}).Give(1)
}
