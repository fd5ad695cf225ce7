package ledger_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/store"
)

var start = time.UnixMilli(1_700_000_000_000)

func message(n int) *envelope.Message {
	return &envelope.Message{Kind: envelope.KindText, Sender: fmt.Sprint("s", n%7), Device: 1, Timestamp: int64(n), Text: fmt.Sprint("!echo ", n)}
}

func onDisk() store.Options { return store.Options{Dir: "state"} }

// life is a bot's, between two starts.
type life struct {
	*ledger.Ledger
	store *store.Store
}

func tryOpen(fs disk.FS, o store.Options, others ...store.Book) (*life, error) {
	s := store.New(fs, o)
	l := &life{ledger.New(s), s}
	if err := s.Open(append(others, l.Ledger)...); err != nil {
		return nil, err
	}
	return l, l.Recover()
}

func open(t *testing.T, fs disk.FS, o store.Options, others ...store.Book) *life {
	t.Helper()
	l, err := tryOpen(fs, o, others...)
	must(t, err)
	t.Cleanup(func() {
		l.store.Close()
		for _, fault := range ledger.Check(l.Ledger) {
			t.Error(fault)
		}
	})
	return l
}

// key is that of a message of the tests.
func key(n int) ledger.Key { return ledger.KeyOf(message(n)) }

func accept(t *testing.T, l *life, n int) bool {
	t.Helper()
	fresh, err := l.Accept(message(n), start, false)
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tidy(t *testing.T, l *life, now time.Time) {
	t.Helper()
	l.Tidy(now)
	must(t, l.store.Tidy())
}

// waiting are the numbers of the messages that wait, in order.
func waiting(l *life) []int64 {
	var all []int64
	for _, w := range l.Waiting() {
		all = append(all, w.Message.Timestamp)
	}
	return all
}

func TestAMessageIsTakenOnce(t *testing.T) {
	for name, o := range map[string]store.Options{"in memory": {}, "on disk": onDisk()} {
		t.Run(name, func(t *testing.T) {
			l := open(t, powerloss.New(), o)
			if !accept(t, l, 1) || accept(t, l, 1) {
				t.Error("the second of two was taken, or the first was not")
			}
			must(t, l.Begin(key(1)))
			must(t, l.Settle(key(1), ledger.Sent))
			if accept(t, l, 1) {
				t.Error("taken again after it was answered")
			}
			other := message(1)
			other.Device = 2
			if fresh, err := l.Accept(other, start, false); !fresh || err != nil {
				t.Errorf("another device's message of the same moment: %t, %v", fresh, err)
			}
		})
	}
}

// What a kill leaves: the waiting is answered, the begun is unknown, the
// settled is over.
func TestKilledBotGoesOn(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	for n := range 6 {
		accept(t, l, n)
	}
	must(t, l.Begin(key(1)))
	must(t, l.Settle(key(1), ledger.Sent))
	must(t, l.Settle(key(2), ledger.Dropped))
	must(t, l.Begin(key(3)))

	l = open(t, fs.Clone(), onDisk()) // killed: the disk is as it was
	if got := waiting(l); fmt.Sprint(got) != "[0 4 5]" {
		t.Errorf("waiting are %v", got)
	}
	if w := l.Waiting()[1]; w.Message.Text != "!echo 4" || !w.At.Equal(start) {
		t.Errorf("of a waiting one is left %+v", w)
	}
	if r := l.Recovered(); r.Waiting != 3 || r.Unknown != 1 {
		t.Errorf("recovered %+v", r)
	}
	for n := range 6 {
		if accept(t, l, n) {
			t.Errorf("message %d was taken a second time", n)
		}
	}
}

// A checkpoint in the middle changes nothing of that.
func TestCheckpointKeepsWhatIsRemembered(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	const n = 15_000 // some MiB of journal
	for i := range n {
		accept(t, l, i)
		must(t, l.Begin(key(i)))
		if i%1000 != 0 {
			must(t, l.Settle(key(i), ledger.Sent))
		}
		if i%5000 == 0 {
			tidy(t, l, start)
		}
	}
	accept(t, l, n)
	must(t, l.store.Compact())
	accept(t, l, n+1)
	l = open(t, fs.Clone(), onDisk())
	if got := waiting(l); fmt.Sprint(got) != fmt.Sprint([]int{n, n + 1}) {
		t.Errorf("waiting are %v", got)
	}
	if r := l.Recovered(); r.Unknown != n/1000 {
		t.Errorf("recovered %+v", r)
	}
	if accept(t, l, n-1) || accept(t, l, n+1) {
		t.Error("taken a second time")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	l := open(t, powerloss.New(), store.Options{})
	const most = 1000
	ledger.Remember(l.Ledger, most)
	accept(t, l, 30_000) // waits, and is never forgotten
	for n := range 10_000 {
		accept(t, l, n)
		must(t, l.Settle(key(n), ledger.Sent))
		if got, least := ledger.Len(l.Ledger), min(n+2, most); got < least || got > most+most/4 {
			t.Fatalf("after %d messages %d are remembered", n, got)
		}
	}
	if !accept(t, l, 0) || accept(t, l, 9_999) || accept(t, l, 30_000) {
		t.Error("not the oldest were forgotten")
	}
	l.Tidy(start.Add(ledger.Retention + time.Second))
	if got := waiting(l); fmt.Sprint(got) != "[30000 0]" || ledger.Len(l.Ledger) != 2 {
		t.Errorf("%d are remembered after their time, %v wait", ledger.Len(l.Ledger), got)
	}
}

// What waits is bounded too, or a flood would fill the memory while the oldest
// ones wait in the spill.
func TestOnlySoManyMayWait(t *testing.T) {
	l := open(t, powerloss.New(), store.Options{})
	spilled(t, l, 1)
	spilled(t, l, 2)
	ledger.Crowd(l.Ledger, ledger.MaxOpen-2)
	if _, err := l.Accept(message(3), start, true); !errors.Is(err, ledger.ErrTooMany) {
		t.Fatal(err)
	}
	must(t, l.Settle(key(1), ledger.Dropped))
	if !accept(t, l, 3) {
		t.Error("there is room again, and it was not taken")
	}
	if _, err := l.Accept(message(4), start, true); !errors.Is(err, ledger.ErrTooMany) {
		t.Error(err)
	}
	ledger.Crowd(l.Ledger, 2-ledger.MaxOpen)
}

func TestAMessageTakesLittleMemory(t *testing.T) {
	l := open(t, powerloss.New(), store.Options{})
	before := heap()
	for n := range ledger.MaxEntries {
		m := message(n)
		m.Sender = fmt.Sprintf("%08x-0000-4000-8000-000000000000", n%1000)
		if _, err := l.Accept(m, start, false); err != nil {
			t.Fatal(err)
		}
		must(t, l.Begin(ledger.KeyOf(m)))
	}
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("%d bytes for %d messages", grown, ledger.Len(l.Ledger))
	}
	runtime.KeepAlive(l)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What was begun and certainly not sent waits again, over a restart, in its place;
// what was settled stays so.
func TestWhatWasBegunMayWaitAgain(t *testing.T) {
	for name, spill := range map[string]bool{"here": false, "spilled": true} {
		t.Run(name, func(t *testing.T) {
			fs := powerloss.New()
			l := open(t, fs, onDisk())
			if spill {
				spilled(t, l, 1)
				wantUnspilled(t, l, 1, true)
			} else {
				accept(t, l, 1)
			}
			accept(t, l, 2)
			accept(t, l, 3)
			must(t, l.Begin(key(1)))
			must(t, l.Unbegin(message(1)))
			must(t, l.Begin(key(3)))
			must(t, l.Settle(key(3), ledger.Unknown))
			must(t, l.Unbegin(message(3)))
			l = open(t, fs.Clone(), onDisk())
			if got := waiting(l); fmt.Sprint(got) != "[1 2]" || l.Recovered().Unknown != 0 {
				t.Errorf("waiting are %v, recovered %+v", got, l.Recovered())
			}
		})
	}
}

// A ledger that cannot be written takes nothing.
func TestFullDiskTakesNothing(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	fs.SetCapacity(64 << 10)
	var err error
	n := 0
	for ; err == nil && n < 10_000; n++ {
		_, err = l.Accept(message(n), start, false)
	}
	if err == nil || l.store.Err() == nil {
		t.Fatal("a full disk was not noticed")
	}
	fs.SetCapacity(1 << 30)
	tidy(t, l, start) // nobody may write for hours
	if !accept(t, l, n-1) {
		t.Error("what could not be taken counts as taken")
	}
}

// What could not be begun waits as before: it may be begun later, or taken back.
func TestWhatCannotBeBegunWaits(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	accept(t, l, 1)
	accept(t, l, 2)
	fs.SetCapacity(1)
	for n := 1; n <= 2; n++ {
		if err := l.Begin(key(n)); err == nil || errors.Is(err, ledger.ErrCancelled) {
			t.Fatal(err)
		}
	}
	if got := waiting(l); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("waiting are %v", got)
	}
	if !l.Cancel(message(1).Sender, 1) {
		t.Error("not taken back")
	}
	fs.SetCapacity(1 << 30)
	if err := l.Begin(key(1)); !errors.Is(err, ledger.ErrCancelled) {
		t.Errorf("begun: %v", err)
	}
	must(t, l.Begin(key(2)))
}

// A bot that was killed when its journal was full starts again.
func TestFullJournalIsNoEnd(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk(), filler{})
	accept(t, l, 0)
	must(t, l.Begin(key(0)))
	accept(t, l, 1)
	must(t, l.Settle(key(1), ledger.Dropped))
	var err error
	for size := 4 << 20; size > 100; {
		if err = l.store.Append(store.Record{Book: 'f', Data: make([]byte, size)}); err != nil {
			size /= 2
		}
	}
	for err = nil; err == nil; { // up to the last byte
		err = l.Settle(key(1), ledger.Sent)
	}
	if !errors.Is(err, journal.ErrFull) {
		t.Fatal(err)
	}
	l = open(t, fs.Clone(), onDisk(), filler{})
	if r := l.Recovered(); r.Unknown != 1 || r.Waiting != 0 {
		t.Errorf("recovered %+v", r)
	}
	if !accept(t, l, 1000) {
		t.Error("there is no room")
	}
}

// filler is a book that only fills the journal.
type filler struct{}

func (filler) Letter() byte                  { return 'f' }
func (filler) Apply([]byte) error            { return nil }
func (filler) Dump(func([]byte) error) error { return nil }

// What cannot be written takes the place of nothing that was.
func TestWhatIsNotTakenForgetsNothing(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	ledger.Remember(l.Ledger, 100)
	accept(t, l, 0)
	must(t, l.Settle(key(0), ledger.Sent))
	fs.SetCapacity(1)
	for n := range 300 {
		if _, err := l.Accept(message(n+1), start, false); err == nil {
			t.Fatal("written to a full disk")
		}
	}
	if accept(t, l, 0) {
		t.Error("forgotten")
	}
}

// One that was forgotten and comes again is as new, after a restart too.
func TestTakenAgainAfterItsTime(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	accept(t, l, 1)
	must(t, l.Settle(key(1), ledger.Sent))
	later := start.Add(ledger.Retention + time.Second)
	tidy(t, l, later)
	if fresh, err := l.Accept(message(1), later, false); !fresh || err != nil {
		t.Fatalf("%t, %v", fresh, err)
	}
	l = open(t, fs.Clone(), onDisk())
	if w := l.Waiting(); len(w) != 1 || !w[0].At.Equal(later) {
		t.Errorf("waiting are %+v", w)
	}
}

// acceptAt takes a message at a moment, and settles it.
func acceptAt(t *testing.T, l *life, n int, at time.Time) {
	t.Helper()
	if fresh, err := l.Accept(message(n), at, false); !fresh || err != nil {
		t.Fatalf("%t, %v", fresh, err)
	}
	must(t, l.Settle(key(n), ledger.Sent))
}

// A clock that was ahead once keeps nothing for ever, neither what came then nor
// what came after it.
func TestClockThatWasAheadKeepsNothing(t *testing.T) {
	const year = 365 * 24 * time.Hour
	fs := powerloss.New()
	l := open(t, fs, onDisk())
	acceptAt(t, l, 1, start.Add(year))
	for n := range 100 {
		acceptAt(t, l, n+2, start.Add(time.Duration(n)*time.Second))
	}
	l = open(t, fs.Clone(), onDisk())
	tidy(t, l, start.Add(time.Hour))
	if n := ledger.Len(l.Ledger); n != 101 {
		t.Errorf("%d are remembered before their time", n)
	}
	acceptAt(t, l, 200, start.Add(year)) // and it is ahead again, and set
	for n := range 24 {
		tidy(t, l, start.Add(time.Duration(n+2)*time.Hour))
		if accept(t, l, 200) {
			t.Fatal("forgotten before its time")
		}
	}
	if n := ledger.Len(l.Ledger); n != 2 {
		t.Errorf("%d are remembered of those that are over", n)
	}
	tidy(t, l, start.Add(26*time.Hour))
	if n := ledger.Len(l.Ledger); n != 0 {
		t.Errorf("%d are remembered for ever", n)
	}
}

// One that is far behind, as after a loss of power, forgets nothing: just then
// what was answered may come again.
func TestClockThatIsBehindForgetsNothing(t *testing.T) {
	l := open(t, powerloss.New(), onDisk())
	acceptAt(t, l, 1, start)
	for n := range 10 {
		tidy(t, l, time.UnixMilli(0).Add(time.Duration(n)*time.Hour))
	}
	tidy(t, l, start.Add(time.Hour))
	tidy(t, l, start.Add(ledger.Retention-time.Second))
	if accept(t, l, 1) {
		t.Error("forgotten")
	}
}

// The journal of another program is left alone.
func TestAnotherProgramsFolder(t *testing.T) {
	for _, record := range []string{"\x01\x02", `l{"intent":1}`, `l{"k":{"s":"a","t":1},"s":"waiting","at":1}`, `l[`} {
		fs := powerloss.New()
		log, err := journal.Open(fs, "state", journal.Options{})
		must(t, err)
		_, err = log.Append([]byte(record))
		must(t, err)
		must(t, log.Close())
		if _, err := tryOpen(fs, onDisk()); err == nil || !strings.Contains(err.Error(), "another program") {
			t.Errorf("%q: opened, %v", record, err)
		}
	}
}
