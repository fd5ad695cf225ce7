package people_test

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/people"
	"quartet/services/botd/internal/store"
)

// life is one life of a bot, with its disk.
type life struct {
	fs     *powerloss.FS
	book   *store.Store
	people *people.People
}

func begin(t *testing.T, fs *powerloss.FS) *life {
	t.Helper()
	w := store.New(fs, store.Options{Dir: "state", Always: true})
	l := &life{fs, w, people.New(w)}
	must(t, w.Open(l.people))
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

func inMemory() *people.People { return people.New(store.New(nil, store.Options{})) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	ala = "aaaaaaaa-1111-4222-8333-444444444444"
	ela = "eeeeeeee-1111-4222-8333-444444444444"
)

// count counts and writes it, and checks how many there are.
func (l *life) count(t *testing.T, person string, want int) {
	t.Helper()
	n, records := l.people.Count(person)
	if n != want {
		t.Errorf("the use counted as %d, want %d", n, want)
	}
	must(t, l.book.Append(records...))
}

func uses(t *testing.T, p *people.People, person string, want int) {
	t.Helper()
	if n := p.Uses(person); n != want {
		t.Errorf("%d uses, want %d", n, want)
	}
}

func TestUsesAreCountedForEach(t *testing.T) {
	p := inMemory()
	for n := 1; n <= 3; n++ {
		if got, _ := p.Count(ala); got != n {
			t.Errorf("use %d counted as %d", n, got)
		}
	}
	uses(t, p, ala, 3)
	uses(t, p, ela, 0)
	must(t, p.Forget(ala))
	uses(t, p, ala, 0)
	must(t, p.OptOut(ela))
	if n, records := p.Count(ela); n != 0 || records != nil {
		t.Errorf("one who opted out is counted: %d, %v", n, records)
	}
	if !p.OptedOut(ela) || p.OptedOut(ala) {
		t.Error("the wrong one has opted out")
	}
	must(t, p.OptIn(ela))
	if n, _ := p.Count(ela); n != 1 || p.OptedOut(ela) {
		t.Errorf("back again: %d uses, opted out %t", n, p.OptedOut(ela))
	}
}

func TestPeopleSurviveAKill(t *testing.T) {
	l := begin(t, powerloss.New())
	l.count(t, ala, 1)
	l.count(t, ala, 2)
	l.count(t, ela, 1)
	must(t, l.people.OptOut("ola"))
	must(t, l.people.OptOut("ula"))
	must(t, l.people.OptIn("ula"))
	for range 3 { // the last from an account alone
		l = l.killed(t)
		uses(t, l.people, ala, 2)
		uses(t, l.people, ela, 1)
		if !l.people.OptedOut("ola") || l.people.OptedOut("ula") {
			t.Error("who opted out is not who did")
		}
		must(t, l.book.Compact())
	}
	l.count(t, ala, 3)
	must(t, l.people.Forget(ela))
	l = l.killed(t)
	uses(t, l.people, ala, 3)
	uses(t, l.people, ela, 0)
}

// A record says how many there are, so it may be written twice, in another order,
// or after an account that has it.
func TestRecordsMayComeAgain(t *testing.T) {
	l := begin(t, powerloss.New())
	_, first := l.people.Count(ala)
	_, second := l.people.Count(ala)
	must(t, l.book.Compact())
	for _, records := range [][]store.Record{second, first, first, second, first} {
		must(t, l.book.Append(records...))
	}
	uses(t, l.killed(t).people, ala, 2)
}

// What was counted before and is written after brings nobody back.
func TestLateRecordBringsNobodyBack(t *testing.T) {
	for name, forget := range map[string]func(*testing.T, *people.People, string){
		"forget": func(t *testing.T, p *people.People, who string) { must(t, p.Forget(who)) },
		"opt out": func(t *testing.T, p *people.People, who string) {
			must(t, p.OptOut(who))
		},
		"opt out and in": func(t *testing.T, p *people.People, who string) {
			must(t, p.OptOut(who))
			must(t, p.OptIn(who))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := begin(t, powerloss.New())
			l.count(t, ala, 1)
			l.count(t, ela, 1)
			_, late := l.people.Count(ala)
			_, others := l.people.Count(ela)
			forget(t, l.people, ala)
			must(t, l.book.Append(late...))
			must(t, l.book.Append(others...))
			l = l.killed(t)
			uses(t, l.people, ala, 0)
			uses(t, l.people, ela, 2)
		})
	}
}

func TestWhoBeginsAnewIsNotForgottenAgain(t *testing.T) {
	l := begin(t, powerloss.New())
	for range 5 {
		_, records := l.people.Count(ala)
		must(t, l.book.Append(records...))
	}
	_, late := l.people.Count(ala)
	must(t, l.people.Forget(ala))
	l.count(t, ala, 1)
	must(t, l.book.Append(late...))
	l.count(t, ala, 2)
	l = l.killed(t)
	uses(t, l.people, ala, 2)
	must(t, l.book.Compact())
	must(t, l.people.Forget(ela))
	uses(t, l.killed(t).people, ala, 2)
}

// An account may have been made between the forgetting and its record, with what
// was counted since.
func TestRecordOfForgettingLeavesWhatWasCountedSince(t *testing.T) {
	p := inMemory()
	apply := func(format string, values ...any) { must(t, p.Apply(fmt.Appendf(nil, format, values...))) }
	apply(`{"salt":"AAECAwQFBgcICQoLDA0ODw=="}`)
	mark, err := json(p.Mark(ala))
	must(t, err)
	apply(`{"m":%s,"n":1,"e":1}`, mark)
	apply(`{"salt":"AAECAwQFBgcICQoLDA0ODw==","e":1}`)
	apply(`{"m":%s,"gone":true,"e":1}`, mark)
	uses(t, p, ala, 1)
	apply(`{"m":%s,"gone":true,"e":2}`, mark)
	uses(t, p, ala, 0)
}

// Whom was counted longest ago goes, also after a restart.
func TestTalliesAreBounded(t *testing.T) {
	p := inMemory()
	for n := range people.MaxTallied {
		p.Count(fmt.Sprint(n))
	}
	p.Count("0")
	p.Count("new")
	uses(t, p, "0", 2)
	uses(t, p, "1", 0)
	uses(t, p, "2", 1)
	if p.Len() != people.MaxTallied || !p.Sound() {
		t.Fatalf("%d people are counted, sound %t", p.Len(), p.Sound())
	}
	again := inMemory()
	must(t, p.Dump(again.Apply))
	if again.Len() != people.MaxTallied || !again.Sound() {
		t.Fatalf("%d people are counted again, sound %t", again.Len(), again.Sound())
	}
	for n := range 10 {
		again.Count(fmt.Sprint("newer", n))
	}
	uses(t, again, "11", 0)
	uses(t, again, "12", 1)
	uses(t, again, "0", 2)
	for n := range 1000 {
		must(t, again.Forget(fmt.Sprint(100+n*7)))
	}
	if again.Len() != people.MaxTallied-1000 || !again.Sound() {
		t.Errorf("%d people are counted, sound %t", again.Len(), again.Sound())
	}
}

func TestOptOutsAreBounded(t *testing.T) {
	p := inMemory()
	all := make([]string, people.MaxOut-1)
	for n := range all {
		all[n] = fmt.Sprint(n)
	}
	p.OptOutAll(all)
	p.Count(ala)
	must(t, p.OptOut(ela))
	must(t, p.OptOut(ela))
	if err := p.OptOut(ala); !errors.Is(err, people.ErrTooMany) {
		t.Errorf("one too many: %v", err)
	}
	if p.OptedOut(ala) || p.Out() != people.MaxOut {
		t.Errorf("opted out %t, %d in all", p.OptedOut(ala), p.Out())
	}
	uses(t, p, ala, 1)
	must(t, p.OptIn("7"))
	must(t, p.OptOut(ala))
}

// What could not be written holds until the bot stops, and an error says so. A
// record that does not fit is no error where the account could be written.
func TestWhatCannotBeWritten(t *testing.T) {
	l := begin(t, powerloss.New())
	l.count(t, ala, 1)
	fail := func(kinds ...string) {
		l.fs.SetFail(func(op powerloss.Op) error {
			for _, k := range kinds {
				if op.Kind == k {
					return syscall.ENOSPC
				}
			}
			return nil
		})
	}
	fail("create", "write")
	for name, err := range map[string]error{"forget": l.people.Forget(ala), "opt out": l.people.OptOut(ela), "opt in": l.people.OptIn(ola)} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
	}
	uses(t, l.people, ala, 0)
	if !l.people.OptedOut(ela) {
		t.Error("one who opted out is in")
	}
	fail()
	must(t, l.people.Forget(ala))
	must(t, l.people.OptOut(ela))
	l = l.killed(t)
	uses(t, l.people, ala, 0)
	if !l.people.OptedOut(ela) {
		t.Error("one who opted out is in")
	}
}

const ola = "0000aaaa-1111-4222-8333-444444444444"

// Many count and are forgotten at once.
func TestPeopleInAStorm(t *testing.T) {
	l := begin(t, powerloss.New())
	const each = 100
	var all sync.WaitGroup
	for person := range 6 {
		all.Go(func() {
			who := fmt.Sprint("p", person)
			for n := range each {
				uses, records := l.people.Count(who)
				if uses != n+1 {
					t.Errorf("use %d counted as %d", n+1, uses)
				}
				if err := l.book.Append(records...); err != nil {
					t.Error(err)
				}
				l.people.OptedOut(who)
			}
		})
	}
	all.Go(func() {
		for n := range 20 {
			if err := errors.Join(l.people.Forget(fmt.Sprint("q", n)), l.people.OptOut(fmt.Sprint("o", n))); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	l = l.killed(t)
	for person := range 6 {
		uses(t, l.people, fmt.Sprint("p", person), each)
	}
	if l.people.Out() != 20 || !l.people.Sound() {
		t.Errorf("%d opted out, sound %t", l.people.Out(), l.people.Sound())
	}
}
