package journal_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/powerloss"
)

func TestFullDiskFailsWhatDoesNotFitAndNothingElse(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	want := numbered(0, 20)
	for _, r := range want {
		mustAppend(t, l, r)
	}
	used := l.Stats().Bytes
	for room := range int64(400) {
		fs.SetCapacity(used + room + 1)
		_, err := l.Append([]byte(strings.Repeat("x", 100)), []byte("and"))
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("with room for %d: %v", room, err)
		}
		wantRecords(t, all(t, l), want...)
		if got := l.Stats().Bytes; got != used {
			t.Fatalf("with room for %d: %d bytes, were %d", room, got, used)
		}
	}
	want = append(want, strings.Repeat("x", 100), "and")
	wantRecords(t, all(t, l), want...)
	fs.SetCapacity(0)
	mustAppend(t, l, "last")
	mustClose(t, l)
	wantRecords(t, all(t, mustOpen(t, fs, small)), append(want, "last")...)
}

func TestFullDiskIsEmptiedByDrop(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	fs.SetCapacity(1500)
	for round := range 20 {
		n := 0
		for ; ; n++ {
			if _, err := l.Append([]byte(strings.Repeat("x", 50))); err != nil {
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatal(err)
				}
				break
			}
		}
		if n == 0 {
			t.Fatalf("round %d: no room", round)
		}
		if err := l.Drop(l.End()); err != nil {
			t.Fatal(err)
		}
	}
}

// script uses everything; it stops at the first error. It returns what it has
// appended, and which of it is synced.
func script(l *journal.Log) (appended []string, synced int, err error) {
	for i := range 30 {
		r := fmt.Sprintf("record %d %s", i, strings.Repeat("x", i*5%40))
		if _, err := l.Append([]byte(r)); err != nil {
			return appended, synced, err
		}
		appended = append(appended, r)
		switch i % 10 {
		case 3:
			err = l.Checkpoint(l.End(), func(add func([]byte) error) error {
				return add([]byte(fmt.Sprint(i + 1)))
			})
			if err == nil {
				synced = len(appended)
			}
		case 6:
			// What the last checkpoint stands for may go.
			at, snapshotErr := l.Snapshot(func([]byte) error { return nil })
			err = errors.Join(snapshotErr, l.Drop(at))
		}
		if err != nil {
			return appended, synced, err
		}
	}
	return appended, synced, nil
}

// rebuilt is what a start makes of checkpoint and log.
func rebuilt(t *testing.T, l *journal.Log, appended []string) []string {
	t.Helper()
	n := 0
	snapshot, rest := state(t, l)
	if len(snapshot) > 0 {
		if _, err := fmt.Sscan(snapshot[0], &n); err != nil {
			t.Fatal(err)
		}
	}
	if n > len(appended) {
		t.Fatalf("a checkpoint of %d records of %d", n, len(appended))
	}
	return append(append([]string(nil), appended[:n]...), rest...)
}

// steps is how many steps a disk does for the script, Open included.
func steps(t *testing.T) int {
	t.Helper()
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	if _, _, err := script(l); err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)
	return fs.Ops()
}

func TestPowerLossAtEveryStep(t *testing.T) {
	for step := range steps(t) {
		for seed := range uint64(20) {
			fs := powerloss.New()
			fs.StopAfter(step + 1)
			var appended []string
			synced := 0
			l, err := journal.Open(fs, dir, small)
			if err == nil {
				appended, synced, _ = script(l)
				_ = l.Close() // the power failed
			}
			l = mustOpen(t, fs.Crash(newRand(seed)), small)
			// One more may be there whose Append did not return.
			full := append(appended, fmt.Sprintf("record %d %s", len(appended), strings.Repeat("x", len(appended)*5%40)))
			got := rebuilt(t, l, full)
			if len(got) < synced || len(got) > len(full) {
				t.Fatalf("step %d, seed %d: %d records, %d were synced, %d appended", step, seed, len(got), synced, len(appended))
			}
			wantRecords(t, got, full[:len(got)]...)
			mustClose(t, l)
		}
	}
}

// Whatever step fails once, what Append returned for is there after the process
// ends, and the log works on or says that it is broken.
func TestFailureOfEveryStep(t *testing.T) {
	for step := range steps(t) {
		for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
			fs := powerloss.New()
			n := 0
			fs.SetFail(func(powerloss.Op) error {
				if n++; n == step+1 {
					return errno
				}
				return nil
			})
			var appended []string
			l, err := journal.Open(fs, dir, small)
			if err == nil {
				appended, _, err = script(l)
				if err == nil && !errors.Is(l.Close(), errno) && n > step {
					continue // it was the mark at the end, or a file that was only opened
				}
				if err != nil && l.Stats().Broken == nil {
					p, appendErr := l.Append([]byte("on"))
					if appendErr != nil {
						t.Fatalf("step %d: after %v: %v", step, err, appendErr)
					}
					appended = append(appended, "on")
					if got, readErr := l.Read(p, nil); readErr != nil || string(got) != "on" {
						t.Fatalf("step %d: %q, %v", step, got, readErr)
					}
				}
				closeErr := l.Close()
				if broken := l.Stats().Broken; broken != nil && !errors.Is(broken, errno) {
					t.Fatalf("step %d: %v, broken by %v", step, closeErr, broken)
				}
			} else if !errors.Is(err, errno) {
				t.Fatalf("step %d: %v", step, err)
			}
			next := mustOpen(t, fs.Clone(), small)
			wantRecords(t, rebuilt(t, next, appended), appended...)
			mustClose(t, next)
		}
	}
}

// Several callers share a write that fails half-way, so that whole Appends of it
// are in the file. They must not come back behind what is written in their place.
func TestFailedWriteLeavesNothingForALaterCrash(t *testing.T) {
	fs := powerloss.New()
	entered, leave := make(chan struct{}), make(chan struct{})
	o := journal.Options{SyncEvery: never}
	var once sync.Once
	o.OnWrite = func(time.Duration, int, error) {
		once.Do(func() { close(entered); <-leave })
	}
	l := mustOpen(t, fs, o)
	var all8 sync.WaitGroup
	all8.Go(func() { mustAppend(t, l, "first") })
	<-entered
	const others = 8
	record := strings.Repeat("a", 200)
	before := l.Stats().Bytes
	for range others {
		all8.Go(func() {
			if _, err := l.Append([]byte(record)); !errors.Is(err, syscall.EIO) {
				t.Errorf("got %v, want EIO", err)
			}
		})
	}
	eventually(t, "all have joined the write", func() bool {
		return l.Stats().Bytes == before+others*(8+200)
	})
	fs.SetFail(func(op powerloss.Op) error {
		if op.Kind == "write" {
			return syscall.EIO
		}
		return nil
	})
	close(leave)
	all8.Wait()
	fs.SetFail(nil)
	mustAppend(t, l, strings.Repeat("b", 200))
	for seed := range uint64(300) {
		l := mustOpen(t, fs.AfterCrash(newRand(seed)), o)
		if got := all(t, l); len(got) > 2 || strings.Contains(strings.Join(got, ""), "a") {
			t.Fatalf("seed %d: %q", seed, got)
		}
		mustClose(t, l)
	}
	mustClose(t, l)
}

// A segment that could not be begun must not be found by a later start in the
// middle of the one before.
func TestFailedSegmentLeavesNothingForALaterCrash(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	mustAppend(t, l, strings.Repeat("a", 130))
	failed := filepath.Join(dir, fmt.Sprintf("%016x.log", int64(l.End())))
	fs.SetFail(func(op powerloss.Op) error {
		if op.Kind == "write" && op.Name == failed {
			return syscall.ENOSPC
		}
		return nil
	})
	if _, err := l.Append(make([]byte, 100)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v, want ENOSPC", err)
	}
	fs.SetFail(nil)
	mustAppend(t, l, "small") // where it would have been
	// A checkpoint whose rename survives, when nothing else of the folder does.
	fs.SetFail(func(op powerloss.Op) error {
		if op.Kind == "syncdir" {
			return syscall.EIO
		}
		return nil
	})
	if err := checkpoint(l, l.End(), "snapshot"); !errors.Is(err, journal.ErrBroken) {
		t.Fatalf("got %v, want ErrBroken", err)
	}
	for seed := range uint64(100) {
		next := mustOpen(t, fs.AfterCrash(newRand(seed)), small)
		wantRecords(t, all(t, next), strings.Repeat("a", 130), "small")
		mustClose(t, next)
	}
	_ = l.Close() // broken, as was said
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("still not: %s", what)
		}
	}
}
