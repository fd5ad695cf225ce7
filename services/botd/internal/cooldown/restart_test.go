package cooldown_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/store"
)

// life is a gate with its disk, from one start to the next.
type life struct {
	fs   *powerloss.FS
	book *store.Store
	gate *cooldown.Gate
}

func begin(t *testing.T, fs *powerloss.FS) *life {
	t.Helper()
	w := store.New(fs, store.Options{Dir: "state", Always: true})
	l := &life{fs, w, cooldown.New(w)}
	must(t, w.Open(l.gate))
	t.Cleanup(func() { w.Close() })
	return l
}

// killed is the life after a kill: the disk is as it was.
func (l *life) killed(t *testing.T) *life {
	t.Helper()
	fs := l.fs.Clone()
	must(t, l.book.Close())
	return begin(t, fs)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var kot, five = use("ala", "cats", "kot"), cooldown.Limits{User: 5 * s, Group: 5 * s}

func TestKeptUseSurvivesAKill(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*testing.T, *life, *cooldown.Reservation)
		pass bool
	}{
		"reserved":            {func(*testing.T, *life, *cooldown.Reservation) {}, true},
		"records not written": {func(_ *testing.T, _ *life, r *cooldown.Reservation) { r.Records(at(0)) }, true},
		"kept": {func(t *testing.T, l *life, r *cooldown.Reservation) {
			must(t, l.book.Append(r.Records(at(0))...))
		}, false},
		"kept late": {func(t *testing.T, l *life, r *cooldown.Reservation) {
			must(t, l.book.Append(r.Records(at(1))...))
		}, false},
		"reserved, with a checkpoint": {func(t *testing.T, l *life, r *cooldown.Reservation) {
			must(t, l.book.Compact())
		}, true},
		"kept, with a checkpoint": {func(t *testing.T, l *life, r *cooldown.Reservation) {
			must(t, l.book.Append(r.Records(at(0))...))
			must(t, l.book.Compact())
		}, false},
		"kept, with a checkpoint before": {func(t *testing.T, l *life, r *cooldown.Reservation) {
			records := r.Records(at(0))
			must(t, l.book.Compact())
			must(t, l.book.Append(records...))
		}, false},
		"refund not written": {func(t *testing.T, l *life, r *cooldown.Reservation) {
			must(t, l.book.Append(r.Records(at(0))...))
			r.Refund()
		}, false},
		"refunded": {func(t *testing.T, l *life, r *cooldown.Reservation) {
			must(t, l.book.Append(r.Records(at(0))...))
			must(t, l.book.Append(r.Refund()...))
		}, true},
		"refunded, with a checkpoint between": {func(t *testing.T, l *life, r *cooldown.Reservation) {
			must(t, l.book.Append(r.Records(at(0))...))
			undo := r.Refund()
			must(t, l.book.Compact())
			must(t, l.book.Append(undo...))
		}, true},
		"records written after the refund": {func(t *testing.T, l *life, r *cooldown.Reservation) {
			r.Refund()
			must(t, l.book.Append(r.Records(at(0))...))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := begin(t, powerloss.New())
			c.do(t, l, pass(t, l.gate, kot, five, at(0)))
			l = l.killed(t)
			_, refusal, ok := l.gate.Reserve(kot, five, at(2))
			if ok != c.pass || !ok && refusal != (cooldown.Refusal{Wait: 3 * s, First: true}) {
				t.Errorf("passed %t, %+v", ok, refusal)
			}
		})
	}
}

// The record of a refund that comes late takes nothing from the use that came meanwhile.
func TestLateRefundLeavesTheLaterUse(t *testing.T) {
	l := begin(t, powerloss.New())
	first := pass(t, l.gate, kot, five, at(0))
	must(t, l.book.Append(first.Records(at(0))...))
	undo := first.Refund()
	second := pass(t, l.gate, kot, five, at(0)) // at the same moment
	must(t, l.book.Append(second.Records(at(0))...))
	must(t, l.book.Append(undo...))
	refused(t, l.killed(t).gate, kot, five, at(1), cooldown.Refusal{Wait: 4 * s, First: true})
}

// Two that wrote in the other order, the second after a wait that was over.
func TestEarlierUseWrittenLateChangesNothing(t *testing.T) {
	l := begin(t, powerloss.New())
	first := pass(t, l.gate, kot, five, at(0)).Records(at(0))
	second := pass(t, l.gate, kot, five, at(5)).Records(at(5))
	must(t, l.book.Append(second...))
	must(t, l.book.Append(first...))
	refused(t, l.killed(t).gate, kot, five, at(6), cooldown.Refusal{Wait: 4 * s, First: true})
}

// Uses are numbered on after a restart, or the second life's would count as earlier.
func TestUsesOfTwoLives(t *testing.T) {
	l := begin(t, powerloss.New())
	for n := range 3 {
		now := at(5 * float64(n))
		must(t, l.book.Append(pass(t, l.gate, kot, five, now).Records(now)...))
	}
	l = l.killed(t)
	must(t, l.book.Append(pass(t, l.gate, kot, five, at(15)).Records(at(15))...))
	refused(t, l.killed(t).gate, kot, five, at(16), cooldown.Refusal{Wait: 4 * s, First: true})
}

func TestWaitThatIsOverHasNoRecords(t *testing.T) {
	g := inMemory()
	r := pass(t, g, kot, cooldown.Limits{User: s, Group: 5 * s, Global: s}, at(0))
	if n := len(r.Records(at(1))); n != 1 {
		t.Errorf("%d records, one wait runs", n)
	}
}

// The wall clock may be anything after a restart.
func TestClockThatJumpsNeverProlongsAWait(t *testing.T) {
	for _, c := range []struct {
		now  float64
		wait time.Duration
	}{
		{-1e9, 5 * s}, {-3600, 5 * s}, {-1, 5 * s}, {0, 5 * s}, {2, 3 * s}, {4.5, s / 2}, {5, 0}, {3600, 0}, {1e9, 0},
	} {
		l := begin(t, powerloss.New())
		must(t, l.book.Append(pass(t, l.gate, kot, five, at(0)).Records(at(0))...))
		l = l.killed(t)
		if c.wait == 0 {
			pass(t, l.gate, kot, five, at(c.now))
			continue
		}
		refused(t, l.gate, kot, five, at(c.now), cooldown.Refusal{Wait: c.wait, First: true})
		end := at(c.now).Add(c.wait)
		refused(t, l.gate, kot, five, end.Add(-1), cooldown.Refusal{Wait: 1})
		pass(t, l.gate, kot, five, end)
	}
}

// However often the bot restarts with a clock that is behind, once it was tidied
// the wait goes on.
func TestRestartsDoNotBeginAWaitAnew(t *testing.T) {
	l := begin(t, powerloss.New())
	must(t, l.book.Append(pass(t, l.gate, kot, five, at(0)).Records(at(0))...))
	for n := range 5 {
		l = l.killed(t)
		now := at(-3600 + float64(n))
		must(t, l.gate.Tidy(now))
		refused(t, l.gate, kot, five, now, cooldown.Refusal{Wait: 5*s - time.Duration(n)*s, First: true})
	}
	pass(t, l.killed(t).gate, kot, five, at(-3600+5))
}

func TestTidySaysWhatItCouldNotWrite(t *testing.T) {
	l := begin(t, powerloss.New())
	must(t, l.book.Append(pass(t, l.gate, kot, five, at(0)).Records(at(0))...))
	l = l.killed(t)
	l.fs.SetFail(func(op powerloss.Op) error {
		if op.Kind == "create" {
			return syscall.ENOSPC
		}
		return nil
	})
	if err := l.gate.Tidy(at(-3600)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the disk was full: %v", err)
	}
	l.fs.SetFail(nil)
	must(t, l.gate.Tidy(at(-3600)))
	refused(t, l.killed(t).gate, kot, five, at(-3599), cooldown.Refusal{Wait: 4 * s, First: true})
}

// While the bot runs the wall clock is not looked at: what is written afterwards
// has it as it is then.
func TestClockSetWhileTheBotRuns(t *testing.T) {
	l := begin(t, powerloss.New())
	now := time.Now() // with a monotonic reading
	wall := func(d time.Duration) time.Time { return now.Round(0).Add(d) }
	r := pass(t, l.gate, kot, five, now)
	refused(t, l.gate, kot, five, now.Add(s), cooldown.Refusal{Wait: 4 * s, First: true})
	must(t, l.book.Append(r.Records(now.Add(2*s))...))
	refused(t, l.killed(t).gate, kot, five, wall(3*s), cooldown.Refusal{Wait: 2 * s, First: true})
}

// A journal may have more waits than there can be, all but some of them over.
func TestRestoredGateIsBounded(t *testing.T) {
	g := inMemory()
	const n = cooldown.MaxEntries + 1000
	for i := range n {
		record := fmt.Sprintf(`{"s":1,"p":"p%d","c":"kot","n":%d,"at":%d,"d":5000000000}`, i, i+1, start.UnixNano()+int64(i))
		must(t, g.Apply([]byte(record)))
	}
	if g.Len() != cooldown.MaxEntries || !g.Sound() {
		t.Fatalf("%d waits, sound %t", g.Len(), g.Sound())
	}
	l := cooldown.Limits{User: 5 * s}
	if _, _, ok := g.Reserve(use(fmt.Sprint("p", n-1), "", "kot"), l, at(1)); ok {
		t.Error("the last one was forgotten")
	}
}

// With each record synced, a loss of power is as a kill. Some steps of it.
func TestKeptUseSurvivesALossOfPower(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range 50 {
		l := begin(t, powerloss.New())
		l.fs.StopAfter(1 + rnd.IntN(40))
		var kept, refunded int // that were written
		for n := 0; !l.fs.Crashed(); n++ {
			r := pass(t, l.gate, use(fmt.Sprint(n), "", "kot"), five, at(0))
			if l.book.Append(r.Records(at(0))...) != nil {
				break
			}
			kept = n + 1
			if n%2 == 0 {
				if l.book.Append(r.Refund()...) != nil {
					break
				}
				refunded = n + 1
			}
			if n%5 == 4 && l.book.Compact() != nil {
				break
			}
		}
		l = begin(t, l.fs.Crash(rnd))
		for n := range kept {
			_, _, ok := l.gate.Reserve(use(fmt.Sprint(n), "", "kot"), five, at(1))
			if want := n%2 == 0; ok != want && !(want && n >= refunded) {
				t.Errorf("round %d: use %d of %d passed %t", round, n, kept, ok)
			}
		}
	}
}
