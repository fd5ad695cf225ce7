package name_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/name"
)

// The flags as the tests write them.
const (
	none    = 0
	allow   = name.AllowReplacement
	replace = name.ReplaceExisting
	noQueue = name.DoNotQueue
)

// step is a request, or with release a release, of one connection for "a.b",
// and what has to come of it: the reply, the queue, and the change as
// "old>new", "" if nothing changed.
type step struct {
	who     string
	flags   uint32
	release bool
	reply   uint32
	queue   string
	change  string
}

func ask(who string, flags, reply uint32, queue, change string) step {
	return step{who: who, flags: flags, reply: reply, queue: queue, change: change}
}

func give(who string, reply uint32, queue, change string) step {
	return step{who: who, release: true, reply: reply, queue: queue, change: change}
}

func run(t *testing.T, steps ...step) {
	t.Helper()
	var r name.Registry[string]
	for i, s := range steps {
		verb, reply, c, changed := "request", uint32(0), name.Change[string]{}, false
		if s.release {
			verb = "release"
			reply, c, changed = r.Release("a.b", s.who)
		} else {
			reply, c, changed = r.Request("a.b", s.who, s.flags)
		}
		change := ""
		if changed {
			change = c.Old + ">" + c.New
			if c.Name != "a.b" {
				t.Errorf("step %d: the change is about %q", i, c.Name)
			}
		}
		if queue := strings.Join(r.Queue("a.b"), " "); reply != s.reply || queue != s.queue || change != s.change {
			t.Fatalf("step %d, %s of %s with flags %d: reply %d, queue %q, change %q; want %d, %q, %q",
				i, verb, s.who, s.flags, reply, queue, change, s.reply, s.queue, s.change)
		}
	}
}

func TestTheFirstWhoAsksIsTheOwner(t *testing.T) {
	run(t, ask("A", none, name.PrimaryOwner, "A", ">A"))
}

func TestFlagsDoNotMatterForAFreeName(t *testing.T) {
	run(t, ask("A", allow|replace|noQueue, name.PrimaryOwner, "A", ">A"))
}

func TestUnknownFlagsAreIgnored(t *testing.T) {
	run(t,
		ask("A", 0xfffffff8, name.PrimaryOwner, "A", ">A"),
		ask("B", 0xfffffff8, name.InQueue, "A B", ""))
}

func TestTheOwnerWhoAsksAgainUpdatesItsFlags(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("A", allow, name.AlreadyOwner, "A", ""),
		ask("B", replace, name.PrimaryOwner, "B A", "A>B"))
	run(t,
		ask("A", allow, name.PrimaryOwner, "A", ">A"),
		ask("A", none, name.AlreadyOwner, "A", ""),
		ask("B", replace, name.InQueue, "A B", ""))
	run(t,
		ask("A", allow, name.PrimaryOwner, "A", ">A"),
		ask("A", allow|noQueue, name.AlreadyOwner, "A", ""),
		ask("B", replace, name.PrimaryOwner, "B", "A>B"))
}

func TestAnOwnerThatAllowsItIsReplacedAndBecomesSecond(t *testing.T) {
	run(t,
		ask("A", allow, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		ask("C", replace, name.PrimaryOwner, "C A B", "A>C"))
}

func TestAQueuedConnectionReplacesTheOwnerAndUpdatesItsFlags(t *testing.T) {
	run(t,
		ask("A", allow, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		ask("C", none, name.InQueue, "A B C", ""),
		ask("C", replace|allow, name.PrimaryOwner, "C A B", "A>C"),
		ask("B", replace, name.PrimaryOwner, "B C A", "C>B"))
}

func TestWithoutConsentNobodyIsReplaced(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("B", replace, name.InQueue, "A B", ""))
}

func TestWithoutAskingForItNobodyIsReplaced(t *testing.T) {
	run(t,
		ask("A", allow, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		ask("C", noQueue, name.Exists, "A B", ""))
}

func TestAQueuedConnectionThatAsksAgainUpdatesItsFlags(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		ask("C", none, name.InQueue, "A B C", ""),
		ask("B", allow, name.InQueue, "A B C", ""),
		give("A", name.Released, "B C", "A>B"),
		ask("C", replace, name.PrimaryOwner, "C B", "B>C"))
}

func TestWhoCannotReplaceIsAppendedToTheQueue(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		ask("C", none, name.InQueue, "A B C", ""))
}

// dbus-daemon lets whoever asks for replacement wait in front.
func TestWhoWantedToReplaceWaitsRightBehindTheOwner(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		ask("C", replace, name.InQueue, "A C B", ""),
		ask("B", replace, name.InQueue, "A B C", ""),
		ask("B", replace, name.InQueue, "A B C", ""))
}

func TestAReplacedOwnerThatDoesNotQueueIsDropped(t *testing.T) {
	run(t,
		ask("A", allow|noQueue, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		ask("C", replace, name.PrimaryOwner, "C B", "A>C"))
}

func TestAQueuedConnectionThatStopsQueueingIsRemoved(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		ask("B", noQueue, name.Exists, "A", ""),
		ask("C", replace, name.InQueue, "A C", ""),
		ask("C", replace|noQueue, name.Exists, "A", ""))
}

func TestWhoDoesNotQueueIsToldThatTheNameExists(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("B", noQueue, name.Exists, "A", ""),
		ask("B", noQueue|replace, name.Exists, "A", ""))
}

func TestReplacingNeedsNoQueueing(t *testing.T) {
	run(t,
		ask("A", allow, name.PrimaryOwner, "A", ">A"),
		ask("B", replace|noQueue, name.PrimaryOwner, "B A", "A>B"),
		ask("C", replace, name.InQueue, "B C A", ""))
}

func TestTheWishToReplaceIsNotRemembered(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("B", allow, name.InQueue, "A B", ""),
		ask("C", replace, name.InQueue, "A C B", ""),
		ask("B", allow|replace, name.InQueue, "A B C", ""),
		give("A", name.Released, "B C", "A>B"),
		ask("C", none, name.InQueue, "B C", ""))
}

func TestAReleasedNameGoesToTheNextInTheQueue(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		ask("C", none, name.InQueue, "A B C", ""),
		give("A", name.Released, "B C", "A>B"),
		give("B", name.Released, "C", "B>C"),
		give("C", name.Released, "", "C>"))
}

func TestWhoLeavesTheQueueDoesNotGetTheName(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		ask("B", none, name.InQueue, "A B", ""),
		give("B", name.Released, "A", ""),
		give("A", name.Released, "", "A>"))
}

func TestANameThatNobodyOwnsIsNonExistent(t *testing.T) {
	run(t,
		give("A", name.NonExistent, "", ""),
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		give("A", name.Released, "", "A>"),
		give("A", name.NonExistent, "", ""))
}

func TestSomebodyElsesNameIsNotReleased(t *testing.T) {
	run(t,
		ask("A", none, name.PrimaryOwner, "A", ">A"),
		give("B", name.NotOwner, "A", ""),
		ask("B", noQueue, name.Exists, "A", ""),
		give("B", name.NotOwner, "A", ""))
}

func TestNamesAreReleasedLastFirst(t *testing.T) {
	var r name.Registry[string]
	for _, n := range []string{"n.queued", "n.alone"} {
		r.Request(n, "B", none)
	}
	for _, n := range []string{"n.first", "n.queued", "n.second", "n.third"} {
		r.Request(n, "A", none)
	}
	r.Request("n.second", "B", none)
	got := fmt.Sprint(r.ReleaseAll("A"))
	if want := "[{n.third A } {n.second A B} {n.first A }]"; got != want {
		t.Errorf("changes %s, want %s", got, want)
	}
	if q := r.Queue("n.queued"); len(q) != 1 || r.Count("A") != 0 || r.ReleaseAll("A") != nil {
		t.Errorf("A is still somewhere: %v", q)
	}
}

func TestQuestions(t *testing.T) {
	var r name.Registry[string]
	if _, ok := r.Owner("a.b"); ok || r.IsOwnerOrQueued("A", "a.b") {
		t.Error("an empty registry knows an owner")
	}
	for _, n := range []string{"a.b.c", "x.y", "b.c"} {
		r.Request(n, "A", none)
	}
	r.Request("b.c", "B", none)
	r.Request("a.bc", "B", none)
	if owner, ok := r.Owner("b.c"); owner != "A" || !ok {
		t.Errorf("owner of b.c is %q", owner)
	}
	if got := fmt.Sprint(r.Names(), r.Len()); got != "[a.b.c a.bc b.c x.y] 4" {
		t.Errorf("names %s", got)
	}
	if r.Count("A") != 3 || r.Count("B") != 2 || r.Count("C") != 0 {
		t.Errorf("counts %d %d %d, want 3 2 0", r.Count("A"), r.Count("B"), r.Count("C"))
	}
	if !r.IsOwnerOrQueued("B", "b.c") || !r.IsOwnerOrQueued("A", "b.c") || r.IsOwnerOrQueued("B", "x.y") {
		t.Error("owner and queue of b.c are A and B, and B has nothing to do with x.y")
	}
}
