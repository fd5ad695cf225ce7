package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/ledger"
)

func spilled(t *testing.T, l *life, n int) {
	t.Helper()
	if fresh, err := l.Accept(message(n), start, true); !fresh || err != nil {
		t.Fatalf("%t, %v", fresh, err)
	}
}

func wantUnspilled(t *testing.T, l *life, n int, want bool) {
	t.Helper()
	if wanted, err := l.Unspill(message(n)); wanted != want || err != nil {
		t.Errorf("message %d is wanted: %t, %v", n, wanted, err)
	}
}

// The spill comes again from its beginning: what was answered meanwhile, or is
// here, is not wanted of it.
func TestOfTheSpillOnlyWhatWaitsIsWanted(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	for n := range 5 {
		spilled(t, l, n)
	}
	if len(l.Waiting()) != 0 || accept(t, l, 1) {
		t.Error("what was spilled is here, or was taken twice")
	}
	wantUnspilled(t, l, 0, true)
	wantUnspilled(t, l, 0, false)
	wantUnspilled(t, l, 1, true)
	must(t, l.Begin(key(1)))
	wantUnspilled(t, l, 2, true)
	must(t, l.Begin(key(2)))
	must(t, l.Settle(key(2), ledger.Sent))
	for _, compact := range []bool{false, true} {
		if compact {
			must(t, l.store.Compact())
		}
		after := open(t, fs.Clone(), onDisk())
		if got := waiting(after); fmt.Sprint(got) != "[0]" {
			t.Errorf("waiting are %v", got)
		}
		if r := after.Recovered(); r.Waiting != 3 || r.Unknown != 1 {
			t.Errorf("recovered %+v", r)
		}
		for n, want := range []bool{false, false, false, true, true, false} {
			wantUnspilled(t, after, n, want)
		}
		if got := waiting(after); fmt.Sprint(got) != "[0 3 4]" {
			t.Errorf("waiting are %v", got)
		}
	}
}

// A loss of power may cost the spill what the ledger has: then what comes again
// is taken, once, and once only if the spill has it after all.
func TestWhatWasSpilledIsTakenOnceMoreAfterARestart(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	for n := range 3 {
		spilled(t, l, n)
	}
	l = open(t, fs.Clone(), onDisk())
	if l.Known(message(0)) {
		t.Error("known, and nobody may have its text")
	}
	if !accept(t, l, 0) || accept(t, l, 0) {
		t.Error("not taken once")
	}
	wantUnspilled(t, l, 0, false)
	spilled(t, l, 1) // into the spill once more
	if fresh, err := l.Accept(message(1), start, true); fresh || err != nil {
		t.Errorf("%t, %v", fresh, err)
	}
	wantUnspilled(t, l, 1, true)
	wantUnspilled(t, l, 1, false) // its other copy
	must(t, l.Begin(key(2)))
	if accept(t, l, 2) {
		t.Error("taken when its answer was begun")
	}
	if got := waiting(l); fmt.Sprint(got) != "[0 1]" {
		t.Errorf("waiting are %v", got)
	}
}

// What is lost in the spill does not stay for ever.
func TestWhatIsLostInTheSpillIsForgottenInTime(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	spilled(t, l, 1)
	accept(t, l, 2)
	l = open(t, fs.Clone(), onDisk())
	l.Tidy(start.Add(ledger.Retention - time.Second))
	if ledger.Len(l.Ledger) != 2 {
		t.Error("forgotten too early")
	}
	l.Tidy(start.Add(ledger.Retention + time.Minute))
	if got := waiting(l); fmt.Sprint(got) != "[2]" || ledger.Len(l.Ledger) != 1 {
		t.Errorf("waiting are %v of %d", got, ledger.Len(l.Ledger))
	}
	wantUnspilled(t, l, 1, false)
	if err := l.Begin(key(1)); !errors.Is(err, ledger.ErrCancelled) {
		t.Errorf("begun: %v", err)
	}
}

// What cannot be taken from the spill stays there.
func TestAFailedUnspillChangesNothing(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	spilled(t, l, 1)
	fs.SetCapacity(1)
	if wanted, err := l.Unspill(message(1)); wanted || err == nil {
		t.Fatalf("%t, %v", wanted, err)
	}
	fs.SetCapacity(0)
	if len(l.Waiting()) != 0 {
		t.Error("it is here")
	}
	wantUnspilled(t, l, 1, true)
}
