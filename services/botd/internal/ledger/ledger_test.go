package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/ledger"
)

var start = time.UnixMilli(1_700_000_000_000)

func message(n int) *envelope.Message {
	return &envelope.Message{Kind: envelope.KindText, Sender: fmt.Sprint("s", n%7), Device: 1, Timestamp: int64(n), Text: fmt.Sprint("!echo ", n)}
}

func open(t *testing.T, fs disk.FS, o ledger.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(fs, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func accept(t *testing.T, l *ledger.Ledger, n int) bool {
	t.Helper()
	fresh, err := l.Accept(message(n), start)
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

// waiting are the numbers of the messages that wait, in order.
func waiting(l *ledger.Ledger) []int64 {
	var all []int64
	for _, w := range l.Waiting() {
		all = append(all, w.Message.Timestamp)
	}
	return all
}

var onDisk = ledger.Options{Dir: "state"}

func TestAMessageIsTakenOnce(t *testing.T) {
	for name, o := range map[string]ledger.Options{"in memory": {}, "on disk": onDisk} {
		t.Run(name, func(t *testing.T) {
			l := open(t, powerloss.New(), o)
			if !accept(t, l, 1) || accept(t, l, 1) {
				t.Error("the second of two was taken, or the first was not")
			}
			must(t, l.Begin(ledger.KeyOf(message(1))))
			must(t, l.Settle(ledger.KeyOf(message(1)), ledger.Sent))
			if accept(t, l, 1) {
				t.Error("taken again after it was answered")
			}
			other := message(1)
			other.Device = 2
			if fresh, err := l.Accept(other, start); !fresh || err != nil {
				t.Errorf("another device's message of the same moment: %t, %v", fresh, err)
			}
		})
	}
}

// What a kill leaves: the waiting is answered, the begun is unknown, the
// settled is over.
func TestKilledBotGoesOn(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk)
	for n := range 6 {
		accept(t, l, n)
	}
	key := func(n int) ledger.Key { return ledger.KeyOf(message(n)) }
	must(t, l.Begin(key(1)))
	must(t, l.Settle(key(1), ledger.Sent))
	must(t, l.Settle(key(2), ledger.Dropped))
	must(t, l.Begin(key(3)))

	l = open(t, fs.Clone(), onDisk) // killed: the disk is as it was
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
	l := open(t, fs, onDisk)
	const n = 40_000 // some ten MiB of journal
	for i := range n {
		accept(t, l, i)
		must(t, l.Begin(ledger.KeyOf(message(i))))
		if i%1000 != 0 {
			must(t, l.Settle(ledger.KeyOf(message(i)), ledger.Sent))
		}
		if i%5000 == 0 {
			must(t, l.Tidy(start))
		}
	}
	accept(t, l, n)
	must(t, ledger.Checkpoint(l))
	accept(t, l, n+1)
	l = open(t, fs.Clone(), onDisk)
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
	l := open(t, powerloss.New(), ledger.Options{})
	for n := range 200_000 {
		accept(t, l, n)
		must(t, l.Settle(ledger.KeyOf(message(n)), ledger.Sent))
	}
	if n := ledger.Len(l); n > 1<<16 {
		t.Errorf("%d messages are remembered", n)
	}
	if !accept(t, l, 0) || accept(t, l, 199_999) {
		t.Error("not the oldest were forgotten")
	}
	must(t, l.Tidy(start.Add(ledger.Retention+time.Second)))
	if n := ledger.Len(l); n != 1 {
		t.Errorf("%d are remembered after their time, want the one that waits", n)
	}
}

// A ledger that cannot be written takes nothing, and says why.
func TestFullDiskTakesNothing(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk)
	fs.SetCapacity(64 << 10)
	var err error
	n := 0
	for ; err == nil && n < 10_000; n++ {
		_, err = l.Accept(message(n), start)
	}
	if err == nil || l.Err() == nil {
		t.Fatal("a full disk was not noticed")
	}
	if err := l.Tidy(start); err == nil {
		t.Error("a full disk was shortened")
	}
	fs.SetCapacity(1 << 30)
	must(t, l.Tidy(start)) // nobody may write for hours
	if l.Err() != nil {
		t.Errorf("room again, and still %v", l.Err())
	}
	if !accept(t, l, n-1) {
		t.Error("what could not be taken counts as taken")
	}
}

// A bot that was killed when its journal was full starts again.
func TestFullJournalIsNoEnd(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk)
	accept(t, l, 0)
	must(t, l.Begin(ledger.KeyOf(message(0))))
	var err error
	for n := 1; err == nil; n++ {
		m := message(n)
		m.Text = strings.Repeat("!", 1<<20)
		if _, err = l.Accept(m, start); err == nil {
			err = l.Settle(ledger.KeyOf(m), ledger.Sent)
		}
	}
	for err = nil; err == nil; { // up to the last byte
		err = l.Settle(ledger.KeyOf(message(1)), ledger.Sent)
	}
	if !errors.Is(err, journal.ErrFull) {
		t.Fatal(err)
	}
	l = open(t, fs.Clone(), onDisk)
	if r := l.Recovered(); r.Unknown != 1 || r.Waiting != 0 {
		t.Errorf("recovered %+v", r)
	}
	if !accept(t, l, 1000) {
		t.Error("there is no room")
	}
}

// What cannot be written takes the place of nothing that was.
func TestWhatIsNotTakenForgetsNothing(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk)
	accept(t, l, 0)
	must(t, l.Settle(ledger.KeyOf(message(0)), ledger.Sent))
	fs.SetCapacity(1)
	for n := range 1<<16 + 10 {
		if _, err := l.Accept(message(n+1), start); err == nil {
			t.Fatal("written to a full disk")
		}
	}
	if accept(t, l, 0) {
		t.Error("forgotten")
	}
}

// A sync that failed is known before the next message.
func TestFailedSyncIsNoticed(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk)
	fs.SetFail(func(op powerloss.Op) error {
		if op.Kind == "sync" {
			return errors.New("broken disk")
		}
		return nil
	})
	accept(t, l, 1)
	for deadline := time.Now().Add(20 * time.Second); l.Err() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a failed sync was not noticed")
		}
	}
}

// One that was forgotten and comes again is as new, after a restart too.
func TestTakenAgainAfterItsTime(t *testing.T) {
	fs := powerloss.New()
	l := open(t, fs, onDisk)
	accept(t, l, 1)
	must(t, l.Settle(ledger.KeyOf(message(1)), ledger.Sent))
	later := start.Add(ledger.Retention + time.Second)
	must(t, l.Tidy(later))
	if fresh, err := l.Accept(message(1), later); !fresh || err != nil {
		t.Fatalf("%t, %v", fresh, err)
	}
	l = open(t, fs.Clone(), onDisk)
	if w := l.Waiting(); len(w) != 1 || !w[0].At.Equal(later) {
		t.Errorf("waiting are %+v", w)
	}
}

// The journal of another program is left alone.
func TestAnotherProgramsFolder(t *testing.T) {
	for _, record := range []string{"\x01\x02", `{"intent":1}`} {
		fs := powerloss.New()
		log, err := journal.Open(fs, "state", journal.Options{})
		must(t, err)
		_, err = log.Append([]byte(record))
		must(t, err)
		must(t, log.Close())
		if _, err := ledger.Open(fs, onDisk); err == nil || !strings.Contains(err.Error(), "another program") {
			t.Errorf("%q: opened, %v", record, err)
		}
	}
}

// The power fails at a random moment, again and again. What was in the journal
// for long enough is there; nothing is answered twice, whatever was lost: a
// message whose answer was begun is never waiting again unless the loss took the
// taking of it as well.
func TestPowerLossForgetsOnlyTheEnd(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		fs := powerloss.New()
		l, err := ledger.Open(fs, ledger.Options{Dir: "state", Always: true})
		must(t, err)
		begun := map[int64]bool{}
		settled := map[int64]bool{}
		taken := map[int64]bool{}
		for n := range 20 + rnd.IntN(30) {
			accept(t, l, n)
			taken[int64(n)] = true
			if rnd.IntN(3) > 0 {
				must(t, l.Begin(ledger.KeyOf(message(n))))
				begun[int64(n)] = true
				if rnd.IntN(3) > 0 {
					must(t, l.Settle(ledger.KeyOf(message(n)), ledger.Sent))
					settled[int64(n)] = true
				}
			}
			if rnd.IntN(15) == 0 {
				must(t, ledger.Checkpoint(l))
			}
		}
		after, err := ledger.Open(fs.Crash(rnd), ledger.Options{Dir: "state", Always: true})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		// With Always every step that returned is safe.
		for _, n := range waiting(after) {
			if begun[n] {
				t.Errorf("seed %d: message %d would be answered again", seed, n)
			}
			delete(taken, n)
		}
		for n := range taken {
			if !begun[n] {
				t.Errorf("seed %d: message %d is lost", seed, n)
			}
		}
		if got, want := after.Recovered().Unknown, len(begun)-len(settled); got != want {
			t.Errorf("seed %d: %d unknown, want %d", seed, got, want)
		}
		after.Close()
	}
}
