package budget_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"quartet/kit/budget"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// longest is how long a test waits for what should take moments.
const longest = 30 * time.Second

// within is a context that ends a test which hangs.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls for what another goroutine, or the garbage collector, does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(longest)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("still not after %v: %s", longest, what)
		}
	}
}

// modes are the options that must not make a difference to who gets what.
var modes = []struct {
	name    string
	options budget.Options
}{
	{"plain", budget.Options{}},
	{"reclaim", budget.Options{Reclaim: true}},
}

func mustTake(t *testing.T, b *budget.Budget, n int64) {
	t.Helper()
	if err := b.Take(within(t), n); err != nil {
		t.Fatalf("take %d: %v", n, err)
	}
}

// checkIdle is the invariant after every test: nothing is out, nobody waits,
// and the whole capacity can be had.
func checkIdle(t *testing.T, b *budget.Budget) {
	t.Helper()
	s := b.Stats()
	if s.InUse != 0 || s.Waiting != 0 {
		t.Errorf("not idle: %d in use, %d waiting", s.InUse, s.Waiting)
	}
	if !b.TryTake(s.Capacity) {
		t.Errorf("the capacity of %d cannot be taken", s.Capacity)
		return
	}
	b.Give(s.Capacity)
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}
