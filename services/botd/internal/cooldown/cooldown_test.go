package cooldown_test

import (
	"fmt"
	"testing"
	"time"

	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/store"
)

const s = time.Second

var start = time.UnixMilli(1_700_000_000_000)

// at is some seconds after the start.
func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(s))) }

func inMemory() *cooldown.Gate { return cooldown.New(store.New(nil, store.Options{})) }

func use(person, group, command string) cooldown.Use {
	return cooldown.Use{Person: person, Group: group, Command: command}
}

func pass(t *testing.T, g *cooldown.Gate, u cooldown.Use, l cooldown.Limits, now time.Time) *cooldown.Reservation {
	t.Helper()
	r, refusal, ok := g.Reserve(u, l, now)
	if !ok {
		t.Fatalf("%+v was refused: %+v", u, refusal)
	}
	return r
}

func refused(t *testing.T, g *cooldown.Gate, u cooldown.Use, l cooldown.Limits, now time.Time, want cooldown.Refusal) {
	t.Helper()
	r, refusal, ok := g.Reserve(u, l, now)
	if ok || r != nil || refusal != want {
		t.Errorf("%+v: passed %t, %+v; want %+v", u, ok, refusal, want)
	}
}

func TestSecondUseWaits(t *testing.T) {
	g, l := inMemory(), cooldown.Limits{User: 5 * s}
	kot := use("ala", "", "kot")
	pass(t, g, kot, l, at(0))
	refused(t, g, kot, l, at(2), cooldown.Refusal{Wait: 3 * s, First: true})
	refused(t, g, kot, l, at(3), cooldown.Refusal{Wait: 2 * s})
	pass(t, g, kot, l, at(5))
	refused(t, g, kot, l, at(6), cooldown.Refusal{Wait: 4 * s, First: true}) // a new wait
}

// Who waits for a use of ala's in cats, and who does not.
func TestAUseHoldsUpOnlyItsScopes(t *testing.T) {
	first := use("ala", "cats", "kot")
	same := map[string]cooldown.Use{
		"the same":             first,
		"in a direct chat":     use("ala", "", "kot"),
		"in another group":     use("ala", "dogs", "kot"),
		"another command":      use("ala", "cats", "pies"),
		"somebody else":        use("ela", "cats", "kot"),
		"somebody elsewhere":   use("ela", "dogs", "kot"),
		"somebody in a chat":   use("ela", "", "kot"),
		"else other somewhere": use("ela", "dogs", "pies"),
	}
	for name, c := range map[string]struct {
		limits cooldown.Limits
		wait   []string
	}{
		"none":       {cooldown.Limits{}, nil},
		"negative":   {cooldown.Limits{User: -s, Global: -s}, nil},
		"user":       {cooldown.Limits{User: s}, []string{"the same", "in a direct chat", "in another group"}},
		"user group": {cooldown.Limits{UserGroup: s}, []string{"the same"}},
		"group":      {cooldown.Limits{Group: s}, []string{"the same", "somebody else"}},
		"command":    {cooldown.Limits{Command: s}, []string{"the same", "in a direct chat", "in another group", "somebody else", "somebody elsewhere", "somebody in a chat"}},
		"global":     {cooldown.Limits{Global: s}, []string{"the same", "in a direct chat", "in another group", "another command", "somebody else", "somebody elsewhere", "somebody in a chat", "else other somewhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			waits := map[string]bool{}
			for _, who := range c.wait {
				waits[who] = true
			}
			for who, u := range same {
				g := inMemory()
				pass(t, g, first, c.limits, at(0))
				if _, _, ok := g.Reserve(u, c.limits, at(0.5)); ok == waits[who] {
					t.Errorf("%s: passed %t", who, ok)
				}
				if _, _, ok := g.Reserve(u, c.limits, at(1)); !ok && waits[who] {
					t.Errorf("%s: refused when the time was over", who)
				}
			}
		})
	}
}

func TestDirectChatsAreNoGroup(t *testing.T) {
	g, l := inMemory(), cooldown.Limits{UserGroup: s, Group: s}
	for range 2 {
		if r := pass(t, g, use("ala", "", "kot"), l, at(0)); r != nil {
			t.Error("something was reserved")
		}
	}
}

func TestLongestWaitIsTold(t *testing.T) {
	g := inMemory()
	l := cooldown.Limits{User: 2 * s, Group: 9 * s, Global: 5 * s}
	kot := use("ala", "cats", "kot")
	pass(t, g, kot, l, at(0))
	refused(t, g, kot, l, at(1), cooldown.Refusal{Wait: 8 * s, First: true})
	refused(t, g, use("ala", "dogs", "pies"), l, at(1), cooldown.Refusal{Wait: 4 * s, First: true}) // another wait
	refused(t, g, use("ala", "dogs", "kot"), l, at(3), cooldown.Refusal{Wait: 2 * s})
}

func TestEachPersonIsToldOnceOfASharedWait(t *testing.T) {
	g, l := inMemory(), cooldown.Limits{Global: 10 * s}
	pass(t, g, use("ala", "", "kot"), l, at(0))
	for _, first := range []bool{true, false, false} {
		for _, who := range []string{"ala", "ela", "ola"} {
			refused(t, g, use(who, "", "pies"), l, at(1), cooldown.Refusal{Wait: 9 * s, First: first})
		}
	}
}

// A refused use has begun no wait, not even the one that it would not have had to wait for.
func TestRefusedUseReservesNothing(t *testing.T) {
	g := inMemory()
	l := cooldown.Limits{User: 5 * s, Group: 2 * s}
	pass(t, g, use("ala", "cats", "kot"), l, at(0))
	refused(t, g, use("ala", "dogs", "kot"), l, at(1), cooldown.Refusal{Wait: 4 * s, First: true})
	pass(t, g, use("ela", "dogs", "kot"), l, at(1))
}

func TestRefundReopensWhatWasReserved(t *testing.T) {
	g := inMemory()
	l := cooldown.Limits{User: 5 * s, Group: 5 * s, Global: s}
	kot := use("ala", "cats", "kot")
	r := pass(t, g, kot, l, at(0))
	r.Refund()
	if n := g.Len(); n != 0 {
		t.Errorf("%d waits are left", n)
	}
	later := pass(t, g, kot, l, at(0))
	r.Refund() // takes nothing of the later one
	refused(t, g, kot, l, at(1), cooldown.Refusal{Wait: 4 * s, First: true})
	later.Refund()
	pass(t, g, kot, l, at(1))
}

// After a failure its person waits for a moment, and nobody for longer.
func TestFailureHoldsUpItsPersonForAMoment(t *testing.T) {
	kot := use("ala", "cats", "kot")
	for name, tt := range map[string]struct {
		limits cooldown.Limits
		until  float64
	}{
		"a moment":               {cooldown.Limits{User: 60 * s}, 5},
		"in a group":             {cooldown.Limits{UserGroup: 60 * s}, 5},
		"where others wait too":  {cooldown.Limits{Group: 60 * s, Command: 60 * s, Global: 60 * s}, 5},
		"no longer than usually": {cooldown.Limits{User: 2 * s, Global: s}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := inMemory()
			r := pass(t, g, kot, tt.limits, at(0))
			r.Fail(5 * s)
			if records := append(r.Records(at(0)), r.Refund()...); len(records) > 0 {
				t.Errorf("%d records of what failed", len(records))
			}
			for _, first := range []bool{true, false} { // told once
				refused(t, g, kot, tt.limits, at(1), cooldown.Refusal{Wait: time.Duration((tt.until - 1) * float64(s)), First: first})
			}
			pass(t, g, kot, cooldown.Limits{}, at(1))
			pass(t, g, use("ala", "", "obraz"), cooldown.Limits{User: 60 * s}, at(1))
			pass(t, g, use("ela", "cats", "kot"), tt.limits, at(1)).Refund()
			pass(t, g, kot, tt.limits, at(tt.until))
			if !g.Sound() {
				t.Error("the gate's parts do not agree")
			}
		})
	}
}

func TestRefundLeavesOthersWaits(t *testing.T) {
	g := inMemory()
	l := cooldown.Limits{User: 10 * s, Global: 2 * s}
	r := pass(t, g, use("ala", "", "kot"), l, at(0))
	pass(t, g, use("ela", "", "kot"), l, at(2)) // has the global wait now
	r.Refund()
	refused(t, g, use("ala", "", "kot"), l, at(3), cooldown.Refusal{Wait: s, First: true})
	pass(t, g, use("ala", "", "kot"), l, at(4))
}

func TestNoReservationCanBeUsed(t *testing.T) {
	var r *cooldown.Reservation
	if r.Records(at(0)) != nil || r.Refund() != nil {
		t.Error("nothing has records")
	}
}

// An admin who mistyped a cooldown can repair it.
func TestShorterLimitCountsForTheRunningWait(t *testing.T) {
	kot := use("ala", "cats", "kot")
	for name, c := range map[string]struct {
		set  func(d time.Duration) cooldown.Limits
		wait time.Duration // at 4 s, when 60 s became 5 s
	}{
		"user group": {func(d time.Duration) cooldown.Limits { return cooldown.Limits{UserGroup: d} }, s},
		"group":      {func(d time.Duration) cooldown.Limits { return cooldown.Limits{Group: d} }, s},
		"command":    {func(d time.Duration) cooldown.Limits { return cooldown.Limits{Command: d} }, s},
		// These differ from chat to chat and command to command: the wait is
		// that of the use that began it.
		"user":   {func(d time.Duration) cooldown.Limits { return cooldown.Limits{User: d} }, 56 * s},
		"global": {func(d time.Duration) cooldown.Limits { return cooldown.Limits{Global: d} }, 56 * s},
	} {
		g := inMemory()
		pass(t, g, kot, c.set(60*s), at(0))
		if _, refusal, ok := g.Reserve(kot, c.set(5*s), at(4)); ok || refusal.Wait != c.wait {
			t.Errorf("%s: passed %t, %v", name, ok, refusal.Wait)
		}
		if _, refusal, _ := g.Reserve(kot, c.set(90*s), at(4)); refusal.Wait != c.wait {
			t.Errorf("%s: %v with a longer limit", name, refusal.Wait)
		}
		if !g.Sound() {
			t.Errorf("%s: the gate is out of order", name)
		}
	}
}

func TestLiftedCooldownComesBackByItself(t *testing.T) {
	g, l := inMemory(), cooldown.Limits{User: 5 * s}
	kot := use("probe", "", "kot")
	pass(t, g, kot, l, at(0))
	g.Lift("probe", at(1))
	if r := pass(t, g, kot, l, at(0.999)); r != nil {
		t.Error("a lifted use reserved something")
	}
	refused(t, g, kot, l, at(1), cooldown.Refusal{Wait: 4 * s, First: true})
	pass(t, g, use("ala", "", "kot"), l, at(0))
	refused(t, g, use("ala", "", "kot"), l, at(0), cooldown.Refusal{Wait: 5 * s, First: true})
}

func TestShortLeaseDoesNotEndALongOne(t *testing.T) {
	g, l := inMemory(), cooldown.Limits{User: 5 * s}
	g.Lift("probe", at(60))
	g.Lift("probe", at(1))
	if err := g.Tidy(at(30)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		pass(t, g, use("probe", "", "kot"), l, at(30))
	}
}

// Of two that look at the clock and come in the other order, the second does
// not wait longer than the limit, nor does it pass.
func TestClockReadsOutOfOrder(t *testing.T) {
	g, l := inMemory(), cooldown.Limits{User: 5 * s}
	pass(t, g, use("ala", "", "kot"), l, at(1))
	refused(t, g, use("ala", "", "kot"), l, at(0), cooldown.Refusal{Wait: 5 * s, First: true})
}

// Whoever comes once must not stay in memory.
func TestGateForgetsWhatIsOver(t *testing.T) {
	g, now := inMemory(), start
	l := cooldown.Limits{User: 5 * s, Global: time.Millisecond}
	for n := range 100_000 {
		now = now.Add(10 * time.Millisecond) // 500 uses are within a cooldown
		pass(t, g, use(fmt.Sprint(n), "", "kot"), l, now)
	}
	if n := g.Len(); n > 502 {
		t.Errorf("%d waits are remembered, 501 run", n)
	}
	if err := g.Tidy(now.Add(5 * s)); err != nil || g.Len() != 0 {
		t.Errorf("%d waits are remembered and none runs: %v", g.Len(), err)
	}
}

// A full gate refuses, in silence, until a wait is over.
func TestFullGateRefuses(t *testing.T) {
	g, l := inMemory(), cooldown.Limits{User: 10 * s}
	for n := range cooldown.MaxEntries {
		pass(t, g, use(fmt.Sprint(n), "", "kot"), l, at(float64(n)/cooldown.MaxEntries))
	}
	refused(t, g, use("ala", "", "kot"), l, at(4), cooldown.Refusal{Wait: 6 * s})
	refused(t, g, use("ala", "", "kot"), cooldown.Limits{User: 2 * s}, at(4), cooldown.Refusal{Wait: 2 * s})
	refused(t, g, use("7", "", "kot"), l, at(4), cooldown.Refusal{Wait: 6*s + 7*s/cooldown.MaxEntries, First: true})
	pass(t, g, use("ala", "", "pomoc"), cooldown.Limits{}, at(4))
	pass(t, g, use("ala", "", "kot"), l, at(10))
	refused(t, g, use("ela", "cats", "kot"), cooldown.Limits{User: 3 * s, Group: 3 * s}, at(10),
		cooldown.Refusal{Wait: s / cooldown.MaxEntries})
	if g.Len() != cooldown.MaxEntries || !g.Sound() {
		t.Errorf("%d waits, sound %t", g.Len(), g.Sound())
	}
}

// A wait that very many ask into remembers so many and is silent to the others.
func TestToldAreBounded(t *testing.T) {
	g, l := inMemory(), cooldown.Limits{Global: 10 * s}
	pass(t, g, use("ala", "", "kot"), l, at(0))
	for n := range cooldown.MaxTold + 10 {
		refused(t, g, use(fmt.Sprint(n), "", "kot"), l, at(1), cooldown.Refusal{Wait: 9 * s, First: n < cooldown.MaxTold})
	}
	pass(t, g, use("ala", "", "kot"), l, at(10))
	if g.Told() != 0 {
		t.Errorf("%d people are remembered of a wait that is over", g.Told())
	}
	refused(t, g, use("ala", "", "kot"), l, at(11), cooldown.Refusal{Wait: 9 * s, First: true})
}
