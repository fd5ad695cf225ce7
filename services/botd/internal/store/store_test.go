package store_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/store"
)

func TestBooksComeBack(t *testing.T) {
	fs := powerloss.New()
	p := open(t, fs, onDisk)
	must(t, p.Append(p.a.change("one", "1"), p.b.change("one", "first")))
	must(t, p.Append(p.a.change("two", "2")))
	must(t, p.Append(p.a.change("two", "")))
	check := func() {
		t.Helper()
		wantWords(t, p.a, map[string]string{"one": "1"})
		wantWords(t, p.b, map[string]string{"one": "first"})
	}
	p = open(t, fs.Clone(), onDisk)
	check()
	must(t, p.Compact())
	must(t, p.Compact())
	check()
	must(t, p.Close())
	fs2 := fs.Clone()
	p = open(t, fs2, onDisk)
	must(t, p.Compact())
	must(t, p.Append(p.b.change("two", "second")))
	p = open(t, fs2.Clone(), onDisk)
	wantWords(t, p.a, map[string]string{"one": "1"})
	wantWords(t, p.b, map[string]string{"one": "first", "two": "second"})
}

func TestWithoutAFolderNothingIsWritten(t *testing.T) {
	fs := powerloss.New()
	p := open(t, fs, store.Options{})
	if p.Durable() {
		t.Error("it claims to outlive the process")
	}
	must(t, p.Append(p.a.change("one", "1")))
	p.Step()()
	for name, err := range map[string]error{
		"Tidy": p.Tidy(), "Compact": p.Compact(), "Sync": p.Sync(t.Context()), "Err": p.Err(), "Broken": p.Broken(), "Close": p.Close(),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if fs.Ops() != 0 || p.Stats() != (journal.Stats{}) || p.TornBytes() != 0 {
		t.Errorf("%d steps on the disk, %+v", fs.Ops(), p.Stats())
	}
}

// Whatever a loss of power takes, it takes from both books or from none, and
// with Always it takes nothing.
func TestPowerLossTakesRecordsTogether(t *testing.T) {
	names := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	for seed := range uint64(200) {
		fs, rng := powerloss.New(), rand.New(rand.NewPCG(seed, 2))
		o := store.Options{Dir: dir, Always: seed%2 == 0}
		p := open(t, fs, o)
		for i, name := range names {
			must(t, p.Append(p.a.change(name, name), p.b.change(name, name)))
			if i%10 == 9 && rng.IntN(2) == 0 {
				must(t, p.Compact())
			}
		}
		after := open(t, fs.Crash(rng), o)
		got := after.a.all()
		wantWords(t, after.b, got)
		if o.Always && len(got) != len(names) {
			t.Errorf("seed %d: %d of %d are there", seed, len(got), len(names))
		}
		for i := range got {
			for _, before := range names[:strings.Index(strings.Join(names, ""), i)] {
				if got[before] == "" {
					t.Errorf("seed %d: %s is there and %s is not", seed, i, before)
				}
			}
		}
		must(t, after.Close())
		_ = p.Close() // its disk is gone
	}
}

// A store that cannot be written says why, and goes on when there is room.
func TestFullDiskIsNoEnd(t *testing.T) {
	fs := powerloss.New()
	p := open(t, fs, onDisk)
	must(t, p.Append(p.a.change("one", "1")))
	fs.SetCapacity(1)
	if err := p.Append(p.a.change("two", "2")); err == nil || p.Err() == nil {
		t.Fatalf("a full disk was not noticed: %v, %v", err, p.Err())
	}
	if p.Broken() != nil {
		t.Errorf("a full disk broke it: %v", p.Broken())
	}
	if err := p.Tidy(); err == nil {
		t.Error("a full disk was shortened")
	}
	fs.SetCapacity(0)
	must(t, p.Tidy()) // nobody may write for hours
	if p.Err() != nil {
		t.Errorf("room again, and still %v", p.Err())
	}
	p = open(t, fs.Clone(), onDisk)
	wantWords(t, p.a, map[string]string{"one": "1", "two": "2"})
}

func TestOneTooLongIsNoFault(t *testing.T) {
	p := open(t, powerloss.New(), onDisk)
	if err := p.Append(p.a.change("long", strings.Repeat("x", 9<<20))); !errors.Is(err, journal.ErrTooLarge) {
		t.Fatal(err)
	}
	if p.Err() != nil {
		t.Errorf("the store takes nothing any more: %v", p.Err())
	}
}

// After a failed sync nothing helps but another start.
func TestFailedSyncBreaksIt(t *testing.T) {
	fs := powerloss.New()
	var failed atomic.Int32
	o := onDisk
	o.OnSync = func(_ time.Duration, _ int64, err error) {
		if err != nil {
			failed.Add(1)
		}
	}
	p := open(t, fs, o)
	must(t, p.Append(p.a.change("one", "1")))
	must(t, p.Sync(t.Context()))
	fs.SetFail(func(op powerloss.Op) error {
		if op.Kind == "sync" {
			return errors.New("bad disk")
		}
		return nil
	})
	must(t, p.Append(p.a.change("two", "2")))
	if err := p.Sync(t.Context()); !errors.Is(err, journal.ErrBroken) {
		t.Fatal(err)
	}
	fs.SetFail(nil)
	for name, err := range map[string]error{
		"Err": p.Err(), "Broken": p.Broken(), "Append": p.Append(p.a.change("three", "3")), "Tidy": p.Tidy(), "Compact": p.Compact(),
	} {
		if !errors.Is(err, journal.ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if failed.Load() != 1 {
		t.Errorf("the hook was told %d times", failed.Load())
	}
	if err := p.Close(); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("Close: %v", err)
	}
	p = open(t, fs.Crash(rand.New(rand.NewPCG(1, 1))), onDisk)
	if p.a.all()["one"] != "1" || p.Broken() != nil {
		t.Errorf("the next start has %v, %v", p.a.all(), p.Broken())
	}
}

func TestWritesAreTold(t *testing.T) {
	var writes, bytes int
	o := onDisk
	o.OnWrite = func(_ time.Duration, n int, err error) { writes, bytes = writes+1, bytes+n }
	p := open(t, powerloss.New(), o)
	must(t, p.Append(p.a.change("one", "1")))
	if writes != 1 || bytes < len("aone=1") {
		t.Errorf("%d writes of %d bytes", writes, bytes)
	}
}

// The journal of another program is left alone.
func TestAnotherProgramsFolder(t *testing.T) {
	for _, record := range []string{"", "\x01\x02", "z=1", "a", `{"intent":1}`} {
		fs := powerloss.New()
		log, err := journal.Open(fs, dir, journal.Options{})
		must(t, err)
		_, err = log.Append([]byte(record))
		must(t, err)
		must(t, log.Close())
		if _, err := tryOpen(fs, onDisk); err == nil || !strings.Contains(err.Error(), "another program") {
			t.Errorf("%q: opened, %v", record, err)
		}
		log, err = journal.Open(fs, dir, journal.Options{}) // it was given back
		must(t, err)
		must(t, log.Close())
	}
}

func TestTwoBooksOfOneLetterPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("opened")
		}
	}()
	s := store.New(powerloss.New(), store.Options{})
	_ = s.Open(newBook(s, 'a'), newBook(s, 'a'))
}
