package spill_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/spill"
)

const dir = "spill"

var start = time.UnixMilli(1_700_000_000_000)

func small() spill.Options { return spill.Options{MaxBytes: 256 << 10} }

func open(t *testing.T, fs disk.FS, o spill.Options) *spill.Spill {
	t.Helper()
	s, err := spill.Open(fs, dir, o)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func message(n int) *envelope.Message {
	return &envelope.Message{
		Kind: envelope.KindText, Sender: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n%7), Device: 1,
		Timestamp: int64(n), Text: fmt.Sprint("!echo ", n),
	}
}

func at(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

func push(t *testing.T, s *spill.Spill, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		must(t, s.Push(message(n), at(n)))
	}
}

// want takes the messages of these numbers, in order.
func want(t *testing.T, s *spill.Spill, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		got, err := s.Next(t.Context())
		must(t, err)
		if fmt.Sprint(got) != fmt.Sprint(spill.Taken{Message: *message(n), At: at(n)}) {
			t.Fatalf("got %+v, want number %d", got, n)
		}
	}
}

func wantWaiting(t *testing.T, s *spill.Spill, total int, each map[int]int) {
	t.Helper()
	if s.Len() != total {
		t.Errorf("%d wait, want %d", s.Len(), total)
	}
	for n, count := range each {
		if got := s.Waiting(message(n).Sender); got != count {
			t.Errorf("%d of %d wait, want %d", got, n, count)
		}
	}
}

func TestMessagesComeInTheirOrder(t *testing.T) {
	s := open(t, powerloss.New(), small())
	push(t, s, 0, 300) // more than are read at once
	wantWaiting(t, s, 300, map[int]int{0: 43, 6: 42, 8: 43})
	want(t, s, 0, 100)
	push(t, s, 300, 400)
	want(t, s, 100, 398)
	wantWaiting(t, s, 2, map[int]int{1: 0, 398: 1, 399: 1})
	want(t, s, 398, 400)
	wantWaiting(t, s, 0, map[int]int{399: 0})
	if s.Waiting("nobody") != 0 {
		t.Error("nobody waits")
	}
}

// What was not forgotten comes again, from a place before the first that was not
// taken.
func TestWhatWaitsComesAgainAfterAKill(t *testing.T) {
	fs := powerloss.New()
	s := open(t, fs, small())
	push(t, s, 0, 500)
	want(t, s, 0, 200) // 199 is not taken yet
	s = open(t, fs.Clone(), small())
	first, err := s.Next(t.Context())
	must(t, err)
	n := int(first.Message.Timestamp)
	if n > 199 {
		t.Fatalf("it begins with %d", n)
	}
	if s.Len() != 500-n-1 || s.Waiting(message(499).Sender) < 40 {
		t.Errorf("%d wait behind %d", s.Len(), n)
	}
	want(t, s, n+1, 500)
}

// Space comes back as messages are taken, and only so.
func TestAFullSpillTakesNothing(t *testing.T) {
	fs := powerloss.New()
	s := open(t, fs, small())
	n := 0
	var err error
	for ; err == nil; n++ {
		err = s.Push(message(n), at(n))
	}
	n--
	if !errors.Is(err, spill.ErrFull) || n < 500 {
		t.Fatalf("message %d: %v", n, err)
	}
	wantWaiting(t, s, n, nil)
	if s.Stats().Bytes > small().MaxBytes {
		t.Errorf("%d bytes are taken", s.Stats().Bytes)
	}
	if err := s.Push(message(n), at(n)); !errors.Is(err, spill.ErrFull) {
		t.Errorf("one more: %v", err)
	}
	pushed, taken := n, 0
	for range 3 { // but for two files of eight
		want(t, s, taken, taken+n/2)
		taken += n / 2
		push(t, s, pushed, pushed+n/4)
		pushed += n / 4
	}
	want(t, s, taken, pushed)
}

func TestOneTooLongIsRefused(t *testing.T) {
	s := open(t, powerloss.New(), small())
	m := message(1)
	m.Text = strings.Repeat("x", 64<<10)
	if err := s.Push(m, start); !errors.Is(err, journal.ErrTooLarge) {
		t.Error(err)
	}
	push(t, s, 2, 3)
	wantWaiting(t, s, 1, map[int]int{1: 0, 2: 1})
	want(t, s, 2, 3)
}

func TestAFullDiskLosesNothing(t *testing.T) {
	fs := powerloss.New()
	s := open(t, fs, small())
	push(t, s, 0, 10)
	fs.SetCapacity(1)
	if err := s.Push(message(10), at(10)); err == nil {
		t.Error("pushed to a full disk")
	}
	wantWaiting(t, s, 10, nil)
	fs.SetCapacity(0)
	push(t, s, 10, 11)
	want(t, s, 0, 11)
}

func TestAnEndedContextEndsTheWait(t *testing.T) {
	s := open(t, powerloss.New(), small())
	mine := errors.New("mine")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := s.Next(ctx)
		ended <- err
	}()
	cancel(mine)
	if err := <-ended; !errors.Is(err, mine) {
		t.Error(err)
	}
	push(t, s, 0, 1)
	if _, err := s.Next(ctx); !errors.Is(err, mine) {
		t.Errorf("with one that waits: %v", err)
	}
	want(t, s, 0, 1)
}

func TestCloseEndsTheWait(t *testing.T) {
	fs := powerloss.New()
	s := open(t, fs, small())
	ended := make(chan error)
	go func() {
		_, err := s.Next(context.Background())
		ended <- err
	}()
	must(t, s.Close())
	if err := <-ended; !errors.Is(err, journal.ErrClosed) {
		t.Error(err)
	}
	if err := s.Push(message(1), start); !errors.Is(err, journal.ErrClosed) {
		t.Error(err)
	}
	must(t, s.Close())
	open(t, fs, small())
}

func TestTooSmallASpillIsRefused(t *testing.T) {
	_, err := spill.Open(powerloss.New(), dir, spill.Options{MaxBytes: 1000})
	if err == nil || !strings.Contains(err.Error(), "at least 262144") {
		t.Error(err)
	}
}

// The journal of another program is left alone.
func TestAnotherProgramsFolder(t *testing.T) {
	for _, record := range []string{"", "\x01", `[]`, `{"intent":1}`} {
		fs := powerloss.New()
		log, err := journal.Open(fs, dir, journal.Options{})
		must(t, err)
		_, err = log.Append([]byte(record))
		must(t, err)
		must(t, log.Close())
		if _, err := spill.Open(fs, dir, small()); err == nil || !strings.Contains(err.Error(), "another program") {
			t.Errorf("%q: opened, %v", record, err)
		}
	}
}

func TestAFailedSyncBreaksIt(t *testing.T) {
	fs := powerloss.New()
	o := small()
	o.Always = true
	s := open(t, fs, o)
	fs.SetFail(func(op powerloss.Op) error {
		if op.Kind == "sync" {
			return errors.New("bad disk")
		}
		return nil
	})
	if err := s.Push(message(1), start); !errors.Is(err, journal.ErrBroken) || !errors.Is(s.Broken(), journal.ErrBroken) {
		t.Errorf("%v, %v", err, s.Broken())
	}
}
