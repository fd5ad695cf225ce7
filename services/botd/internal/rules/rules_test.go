package rules_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/rules"
	"quartet/services/botd/internal/store"
	"quartet/services/botd/internal/transport"
)

// life is one life of a bot, with its disk.
type life struct {
	fs    *powerloss.FS
	book  *store.Store
	rules *rules.Rules
}

func begin(t *testing.T, fs *powerloss.FS) *life {
	t.Helper()
	w := store.New(fs, store.Options{Dir: "state", Always: true})
	l := &life{fs, w, rules.New(w)}
	must(t, w.Open(l.rules))
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

func inMemory() *rules.Rules { return rules.New(store.New(nil, store.Options{})) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	cats = transport.Chat{Group: "cats"}
	dogs = transport.Chat{Group: "dogs"}
	ala  = transport.Chat{User: "ala"}
)

// is checks all that the rules say of a few things.
func is(t *testing.T, r *rules.Rules, allowed, ignored, off bool, wait time.Duration) {
	t.Helper()
	if r.Allowed("cats") != allowed || r.Ignored("ala") != ignored || r.Off("kot", cats) != off {
		t.Errorf("allowed %t, ignored %t, off %t", r.Allowed("cats"), r.Ignored("ala"), r.Off("kot", cats))
	}
	if d, set := r.Limits("kot", cats); max(wait, 0) != d || set != (wait >= 0) {
		t.Errorf("the cooldown is %v, set %t", d, set)
	}
	for what, does := range map[string]bool{
		"allows others": r.Allowed("dogs") || r.Allowed("ala"), "ignores others": r.Ignored("ela") || r.Ignored("cats"),
		"switched others off": r.Off("kot", dogs) || r.Off("kot", ala) || r.Off("pies", cats),
	} {
		if does {
			t.Errorf("it %s", what)
		}
	}
}

func TestDecisionsHoldAndAreTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		do, undo              func(*rules.Rules) error
		allowed, ignored, off bool
		wait                  time.Duration // less than 0: none is set
	}{
		"allow":       {do: func(r *rules.Rules) error { return r.Allow("cats") }, undo: func(r *rules.Rules) error { return r.Forbid("cats") }, allowed: true, wait: -1},
		"ignore":      {do: func(r *rules.Rules) error { return r.Ignore("ala") }, undo: func(r *rules.Rules) error { return r.Hear("ala") }, ignored: true, wait: -1},
		"switch":      {do: func(r *rules.Rules) error { return r.SwitchOff("kot", cats) }, undo: func(r *rules.Rules) error { return r.SwitchOn("kot", cats) }, off: true, wait: -1},
		"cooldown":    {do: func(r *rules.Rules) error { return r.SetCooldown("kot", cats, time.Minute) }, undo: func(r *rules.Rules) error { return r.SetCooldown("kot", cats, -7) }, wait: time.Minute},
		"no cooldown": {do: func(r *rules.Rules) error { return r.SetCooldown("kot", cats, 0) }, undo: func(r *rules.Rules) error { return r.SetCooldown("kot", cats, -1) }, wait: 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := begin(t, powerloss.New())
			is(t, l.rules, false, false, false, -1)
			for range 2 {
				for range 2 {
					must(t, c.do(l.rules))
					is(t, l.rules, c.allowed, c.ignored, c.off, c.wait)
				}
				l = l.killed(t)
				is(t, l.rules, c.allowed, c.ignored, c.off, c.wait)
				must(t, l.book.Compact())
				l = l.killed(t)
				is(t, l.rules, c.allowed, c.ignored, c.off, c.wait)
				for range 2 {
					must(t, c.undo(l.rules))
					is(t, l.rules, false, false, false, -1)
				}
				l = l.killed(t)
				is(t, l.rules, false, false, false, -1)
				forbidden := [4]int{} // that is a decision too
				if name == "allow" {
					forbidden[0] = 1
				}
				if l.rules.Kept() != forbidden {
					t.Errorf("%v are kept", l.rules.Kept())
				}
			}
		})
	}
}

func TestSwitchAndCooldownOfOnePlaceAreApart(t *testing.T) {
	l := begin(t, powerloss.New())
	must(t, l.rules.SetCooldown("kot", cats, time.Minute))
	must(t, l.rules.SwitchOff("kot", cats))
	must(t, l.rules.SwitchOff("kot", ala))
	must(t, l.rules.SwitchOn("kot", ala))
	must(t, l.book.Compact())
	l = l.killed(t)
	is(t, l.rules, false, false, true, time.Minute)
	must(t, l.rules.SwitchOn("kot", cats))
	is(t, l.rules, false, false, false, time.Minute)
	must(t, l.rules.SwitchOff("kot", cats))
	must(t, l.rules.SetCooldown("kot", cats, -1))
	is(t, l.rules, false, false, true, -1)
}

func firstCall(t *testing.T, r *rules.Rules, group string, want bool) {
	t.Helper()
	got := r.FirstCall(group)
	if got != want {
		t.Errorf("the first call of %s: %t", group, got)
	}
	if got {
		must(t, r.Told(group, true))
	}
}

// A group of which no admin could be told calls for the first time again; while
// they are being told it does not.
func TestCallThatNobodyWasToldOfIsNotTheFirst(t *testing.T) {
	l := begin(t, powerloss.New())
	for range 2 {
		if !l.rules.FirstCall("cats") || l.rules.FirstCall("cats") {
			t.Fatal("not one call is the first")
		}
		must(t, l.rules.Told("cats", false))
	}
	if !l.rules.FirstCall("cats") {
		t.Fatal("told of")
	}
	must(t, l.rules.Allow("cats"))
	must(t, l.rules.Told("cats", true)) // too late: it is not unknown
	must(t, l.rules.Forbid("cats"))
	l = l.killed(t)
	firstCall(t, l.rules, "cats", true)
}

func TestUnknownGroupCallsFirstOnce(t *testing.T) {
	l := begin(t, powerloss.New())
	firstCall(t, l.rules, "cats", true)
	firstCall(t, l.rules, "cats", false)
	firstCall(t, l.rules, "dogs", true)
	l = l.killed(t)
	firstCall(t, l.rules, "cats", false)
	must(t, l.book.Compact())
	l = l.killed(t)
	firstCall(t, l.rules, "cats", false)
	must(t, l.rules.Allow("cats"))
	firstCall(t, l.rules, "cats", false) // it is not unknown
	must(t, l.rules.Forbid("cats"))
	l = l.killed(t)
	firstCall(t, l.rules, "cats", true)
	firstCall(t, l.rules, "dogs", false)
}

func TestCallsAreBounded(t *testing.T) {
	l := begin(t, powerloss.New())
	for n := range rules.MaxCalled {
		must(t, l.rules.Apply(fmt.Appendf(nil, `{"op":"call","g":"%d"}`, n)))
	}
	must(t, l.book.Compact())
	firstCall(t, l.rules, "cats", true)
	for range 2 {
		firstCall(t, l.rules, "1", false)
		if l.rules.Kept()[3] != rules.MaxCalled || !l.rules.Sound() {
			t.Errorf("%d calls are remembered", l.rules.Kept()[3])
		}
		l = l.killed(t)
	}
	firstCall(t, l.rules, "0", true) // the oldest went, now the next does
	firstCall(t, l.rules, "1", true)
}

func TestRulesAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		do, undo func(r *rules.Rules, n int) error
		kind     int
		most     int
	}{
		"people": {func(r *rules.Rules, n int) error { return r.Ignore(fmt.Sprint(n)) },
			func(r *rules.Rules, n int) error { return r.Hear(fmt.Sprint(n)) }, 1, rules.MaxPeople},
		"switches": {func(r *rules.Rules, n int) error { return r.SwitchOff(fmt.Sprint(n), cats) },
			func(r *rules.Rules, n int) error { return r.SwitchOn(fmt.Sprint(n), cats) }, 2, rules.MaxSwitches},
		"cooldowns": {func(r *rules.Rules, n int) error { return r.SetCooldown(fmt.Sprint(n), cats, 0) },
			func(r *rules.Rules, n int) error { return r.SetCooldown(fmt.Sprint(n), cats, -1) }, 2, rules.MaxSwitches},
	} {
		t.Run(name, func(t *testing.T) {
			r := inMemory()
			op := map[string]string{"people": `{"op":"ignore","p":"%d"}`,
				"switches": `{"op":"off","c":"%d","g":"cats"}`, "cooldowns": `{"op":"wait","c":"%d","g":"cats"}`}[name]
			for n := range c.most {
				must(t, r.Apply(fmt.Appendf(nil, op, n)))
			}
			if err := r.Apply(fmt.Appendf(nil, op, c.most)); !errors.Is(err, rules.ErrTooMany) {
				t.Errorf("one too many in a journal: %v", err)
			}
			if err := c.do(r, c.most); !errors.Is(err, rules.ErrTooMany) {
				t.Errorf("one too many: %v", err)
			}
			must(t, c.do(r, 7))           // it holds
			must(t, c.undo(r, c.most+17)) // it does not
			must(t, c.undo(r, 7))
			must(t, c.do(r, c.most))
			if r.Kept()[c.kind] != c.most {
				t.Errorf("%v are kept", r.Kept())
			}
		})
	}
}

// Forbidden is more than not allowed: it holds against the operator's list too.
func TestForbiddenIsADecision(t *testing.T) {
	l := begin(t, powerloss.New())
	if l.rules.Forbidden("cats") {
		t.Error("forbidden before anybody decided")
	}
	must(t, l.rules.Forbid("cats"))
	l = l.killed(t)
	must(t, l.book.Compact())
	l = l.killed(t)
	if !l.rules.Forbidden("cats") || l.rules.Allowed("cats") {
		t.Error("forgotten by a restart")
	}
	must(t, l.rules.Allow("cats"))
	if l.rules.Forbidden("cats") || !l.rules.Allowed("cats") {
		t.Error("still forbidden")
	}
}

func TestGroupsAreBounded(t *testing.T) {
	r := inMemory()
	for n := range rules.MaxGroups {
		must(t, r.Apply(fmt.Appendf(nil, `{"op":"allow","g":"%d"}`, n)))
	}
	for _, err := range []error{r.Allow("more"), r.Forbid("more"), r.Apply([]byte(`{"op":"forbid","g":"more"}`))} {
		if !errors.Is(err, rules.ErrTooMany) {
			t.Errorf("one too many: %v", err)
		}
	}
	must(t, r.Forbid("7"))
	must(t, r.Allow("7"))
	if r.Kept()[0] != rules.MaxGroups {
		t.Errorf("%v are kept", r.Kept())
	}
}

// What could not be written does not hold, nor does it after a restart, whatever
// else is written.
func TestWhatCannotBeWrittenDoesNotHold(t *testing.T) {
	l := begin(t, powerloss.New())
	must(t, l.rules.Allow("cats"))
	l.fs.SetFail(func(op powerloss.Op) error {
		if op.Kind == "write" {
			return syscall.ENOSPC
		}
		return nil
	})
	if first, err := l.rules.FirstCall("birds"), l.rules.Told("birds", true); !first || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the first call: %t, %v", first, err)
	}
	firstCall(t, l.rules, "birds", false) // somebody was told
	for name, err := range map[string]error{
		"allow": l.rules.Allow("dogs"), "forbid": l.rules.Forbid("cats"), "ignore": l.rules.Ignore("ala"),
		"switch": l.rules.SwitchOff("kot", cats), "cooldown": l.rules.SetCooldown("kot", cats, 0),
	} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
	}
	is(t, l.rules, true, false, false, -1)
	l.fs.SetFail(nil)
	l = l.killed(t)
	firstCall(t, l.rules, "birds", true)
	must(t, l.book.Compact())
	is(t, l.killed(t).rules, true, false, false, -1)
}

// Random decisions, kills, losses of power and checkpoints, against a set.
func TestRulesAgreeWithModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	l := begin(t, powerloss.New())
	holds := map[string]bool{}
	waits := map[string]time.Duration{}
	for range 3000 {
		who := string(rune('a' + rnd.IntN(4)))
		chat := transport.Chat{Group: who}
		switch rnd.IntN(12) {
		case 0:
			must(t, l.rules.Allow(who))
			holds["allowed "+who] = true
			delete(holds, "called "+who)
		case 1:
			must(t, l.rules.Forbid(who))
			delete(holds, "allowed "+who)
		case 2:
			must(t, l.rules.Ignore(who))
			holds["ignored "+who] = true
		case 3:
			must(t, l.rules.Hear(who))
			delete(holds, "ignored "+who)
		case 4:
			must(t, l.rules.SwitchOff("kot", chat))
			holds["off "+who] = true
		case 5:
			must(t, l.rules.SwitchOn("kot", chat))
			delete(holds, "off "+who)
		case 6, 7:
			waits[who] = time.Duration(rnd.IntN(3))
			must(t, l.rules.SetCooldown("kot", chat, waits[who]))
		case 8:
			must(t, l.rules.SetCooldown("kot", chat, -1))
			delete(waits, who)
		case 9:
			firstCall(t, l.rules, who, !holds["allowed "+who] && !holds["called "+who])
			if !holds["allowed "+who] {
				holds["called "+who] = true
			}
		case 10:
			must(t, l.book.Compact())
		case 11:
			if rnd.IntN(2) == 0 {
				l = l.killed(t)
				break
			}
			fs := l.fs.Crash(rnd)
			l.book.Close()
			l = begin(t, fs)
		}
		if l.rules.Allowed(who) != holds["allowed "+who] || l.rules.Ignored(who) != holds["ignored "+who] || l.rules.Off("kot", chat) != holds["off "+who] {
			t.Fatalf("%s: allowed %t, ignored %t, off %t; %v", who, l.rules.Allowed(who), l.rules.Ignored(who), l.rules.Off("kot", chat), holds)
		}
		want, is := waits[who]
		if d, set := l.rules.Limits("kot", chat); d != want || set != is {
			t.Fatalf("%s: %v, %t; want %v, %t", who, d, set, want, is)
		}
	}
}

// Many ask while others decide and one shortens the journal; a group calls first once.
func TestRulesInAStorm(t *testing.T) {
	l := begin(t, powerloss.New())
	var asking, deciding sync.WaitGroup
	var first atomic.Int32
	over := make(chan struct{})
	for range 2 {
		asking.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				l.rules.Allowed("cats")
				l.rules.Ignored("ala")
				l.rules.Off("kot", cats)
				l.rules.Limits("kot", cats)
			}
		})
	}
	for person := range 4 {
		deciding.Go(func() {
			for n := range 50 {
				var err error
				if unknown := fmt.Sprint("unknown", n); l.rules.FirstCall(unknown) {
					first.Add(1)
					err = l.rules.Told(unknown, true)
				}
				err = errors.Join(err, l.rules.Allow(fmt.Sprint(person, "-", n)), l.rules.Ignore(fmt.Sprint(person, "-", n)), l.rules.SwitchOff("kot", transport.Chat{User: fmt.Sprint(person)}))
				if n%10 == 0 {
					err = errors.Join(err, l.book.Compact())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	deciding.Wait()
	close(over)
	asking.Wait()
	if first.Load() != 50 {
		t.Errorf("%d groups called first, of 50", first.Load())
	}
	if got := l.killed(t).rules.Kept(); got != [4]int{200, 200, 4, 50} {
		t.Errorf("%v are kept", got)
	}
}

// Of calls at the same moment one is the first.
func TestOneOfManyCallsIsTheFirst(t *testing.T) {
	l := begin(t, powerloss.New())
	for round := range 100 {
		var first atomic.Int32
		var all sync.WaitGroup
		begun := make(chan struct{})
		for range 8 {
			all.Go(func() {
				<-begun
				unknown := fmt.Sprint("unknown", round)
				if !l.rules.FirstCall(unknown) {
					return
				}
				first.Add(1)
				if err := l.rules.Told(unknown, true); err != nil {
					t.Error(err)
				}
			})
		}
		close(begun)
		all.Wait()
		if n := first.Load(); n != 1 {
			t.Fatalf("round %d: %d are the first", round, n)
		}
	}
}
