package bot

import (
	"errors"
	"testing"
	"time"
)

// Silence is a fault only where the transport says so, and not while a frame
// waits for room: then nothing is read on purpose.
func TestSilenceOfALink(t *testing.T) {
	start := time.Now()
	after := func(d time.Duration) time.Time { return start.Add(d) }
	open := func(maxSilence time.Duration) *link {
		l := newLink(maxSilence, time.Time{})
		l.up(start)
		return l
	}
	l := open(45 * time.Second)
	if err := l.check(after(45*time.Second + deafMargin)); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	if l.check(after(46*time.Second+deafMargin)) == nil {
		t.Error("silence for longer than the bound was not noticed")
	}
	came := l.hold()
	if err := l.check(after(time.Hour)); err != nil {
		t.Errorf("while a frame waits for room: %v", err)
	}
	l.letGo(came, after(time.Hour))
	if err := l.check(after(time.Hour + time.Second)); err != nil {
		t.Errorf("just after: %v", err)
	}
	if err := open(0).check(after(24 * time.Hour)); err != nil {
		t.Errorf("a webhook may be silent: %v", err)
	}
}

// A gap begins with the last sign of life: from then on frames may be lost.
func TestGapIsCountedFromTheLastSignOfLife(t *testing.T) {
	start := time.Now()
	l := newLink(0, time.Time{})
	if gap := l.up(start); gap != 0 {
		t.Errorf("the first connection ends a gap of %s", gap)
	}
	l.alive(start.Add(time.Minute))
	l.down(errors.New("cut"))
	l.down(errors.New("refused")) // trying again in vain begins no new gap
	if gap := l.up(start.Add(3 * time.Minute)); gap != 2*time.Minute {
		t.Errorf("gap %s, want 2m", gap)
	}
}

// What a stop cuts off is no outage, and what was counted stays so when the clock is
// set back.
func TestGapsOnlyGrow(t *testing.T) {
	start := time.Now().Round(0) // of an earlier life: without the monotonic clock
	l := newLink(0, start)
	want := func(now time.Time, want time.Duration) {
		t.Helper()
		if got := l.gaps(now); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	want(start.Add(time.Minute), time.Minute)
	want(start.Add(-time.Hour), time.Minute)
	l.up(start.Add(2 * time.Minute))
	want(start.Add(time.Hour), 2*time.Minute)
	l.down(errStopping)
	want(start.Add(2*time.Hour), 2*time.Minute)
}

// Until a frame is taken in, a crash would lose it, and the gap has to begin
// before it came.
func TestNothingIsHeardBeyondWhatIsNotTakenIn(t *testing.T) {
	for _, maxSilence := range []time.Duration{0, 45 * time.Second} {
		l := newLink(maxSilence, time.Time{})
		l.up(time.Now())
		first := l.hold()
		second := l.hold()
		later := second.Add(time.Minute)
		l.alive(later)
		if at := l.heard(later); !at.Equal(first) {
			t.Errorf("with two: heard until %s, the first came at %s", at, first)
		}
		l.letGo(first, later)
		if at := l.heard(later); at.After(second) {
			t.Errorf("with one: heard until %s, it came at %s", at, second)
		}
		l.letGo(second, later)
		if at := l.heard(later); !at.Equal(later) {
			t.Errorf("with none: heard until %s, want %s", at, later)
		}
	}
}
