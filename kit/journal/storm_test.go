package journal_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/powerloss"
)

// TestManyCallersAtOnce has goroutines that append, read back, scan, sync, drop
// and checkpoint side by side.
func TestManyCallersAtOnce(t *testing.T) {
	for _, always := range []bool{false, true} {
		fs := powerloss.New()
		l := mustOpen(t, fs, journal.Options{
			SegmentBytes: 4 << 10, MaxBytes: 64 << 10, SyncEvery: time.Millisecond, Always: always,
			OnSync:  func(time.Duration, int64, error) {},
			OnWrite: func(time.Duration, int, error) {},
		})
		var writers, others sync.WaitGroup
		end := make(chan struct{})
		for w := range 8 {
			writers.Go(func() { appendAndRead(t, l, w) })
		}
		again := func(do func() error) {
			others.Go(func() {
				for {
					select {
					case <-end:
						return
					default:
					}
					if err := do(); err != nil && !errors.Is(err, journal.ErrDropped) {
						t.Error(err)
						return
					}
				}
			})
		}
		again(func() error { return l.Sync(t.Context()) })
		again(func() error { return l.Drop(l.End() - 16<<10) })
		again(func() error { return checkpoint(l, l.End(), "a", "b") })
		again(func() error {
			at, err := l.Rotate()
			time.Sleep(time.Millisecond) // or there would be nothing but heads
			return errors.Join(err, l.Drop(at-16<<10))
		})
		again(func() error { _ = l.Stats(); return nil })
		again(func() error {
			at, err := l.Snapshot(func([]byte) error { return nil })
			return errors.Join(err, l.Scan(at, func(journal.Pos, []byte) error { return nil }))
		})
		writers.Wait()
		close(end)
		others.Wait()
		mustClose(t, l)
		mustClose(t, mustOpen(t, fs, small))
	}
}

func appendAndRead(t *testing.T, l *journal.Log, writer int) {
	var buf []byte
	for i := range 300 {
		records := [][]byte{fmt.Appendf(nil, "%d-%d", writer, i), []byte(strings.Repeat("x", i))}
		p, err := l.Append(records...)
		for errors.Is(err, journal.ErrFull) { // until somebody drops
			p, err = l.Append(records...)
		}
		if err != nil {
			t.Error(err)
			return
		}
		for _, r := range records {
			buf, err = l.Read(p, buf)
			if errors.Is(err, journal.ErrDropped) {
				break
			}
			if err != nil || string(buf) != string(r) {
				t.Errorf("at %d is %q, %v, want %q", p, buf, err, r)
				return
			}
			p = journal.After(p, len(r))
		}
	}
}

// Those who come while one writes share the next write, whatever they bring.
func TestCallersShareAWrite(t *testing.T) {
	fs := powerloss.New()
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	l := mustOpen(t, fs, journal.Options{SyncEvery: never, OnWrite: func(time.Duration, int, error) {
		once.Do(func() { close(entered); <-leave })
	}})
	var callers sync.WaitGroup
	callers.Go(func() { mustAppend(t, l, "first") })
	<-entered
	before := l.Stats().Bytes
	for range 20 {
		callers.Go(func() {
			p := mustAppend(t, l, "one", "two")
			if got, err := l.Read(journal.After(p, 3), nil); err != nil || string(got) != "two" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	eventually(t, "all wait", func() bool { return l.Stats().Bytes == before+20*22 })
	close(leave)
	callers.Wait()
	if got := l.Stats().Writes; got != 2 {
		t.Errorf("%d writes, want 2", got)
	}
	if got := all(t, l); len(got) != 41 {
		t.Errorf("%d records, want 41", len(got))
	}
}

// What waits to be written is bounded by a segment: the rest waits for the next
// write.
func TestCallersThatDoNotFitWaitForTheNextWrite(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	o := small
	o.OnWrite = func(time.Duration, int, error) {
		once.Do(func() { close(entered); <-leave })
	}
	l := mustOpen(t, powerloss.New(), o)
	var callers sync.WaitGroup
	callers.Go(func() { mustAppend(t, l, "first") })
	<-entered
	before := l.Stats().Bytes
	for range 20 {
		callers.Go(func() { mustAppend(t, l, strings.Repeat("x", 92)) })
	}
	eventually(t, "two wait in the batch", func() bool { return l.Stats().Bytes == before+2*100 })
	close(leave)
	callers.Wait()
	if got := all(t, l); len(got) != 21 {
		t.Errorf("%d records, want 21", len(got))
	}
}

func TestCloseWaitsForThoseWhoAppend(t *testing.T) {
	fs := powerloss.New()
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	o := small
	o.Always = true
	o.OnWrite = func(time.Duration, int, error) {
		once.Do(func() { close(entered); <-leave })
	}
	l := mustOpen(t, fs, o)
	var callers sync.WaitGroup
	callers.Go(func() { mustAppend(t, l, "first") })
	<-entered
	closed := make(chan error)
	go func() { closed <- l.Close() }()
	eventually(t, "it is being closed", func() bool {
		_, err := l.Read(0, nil)
		return errors.Is(err, journal.ErrClosed)
	})
	select {
	case err := <-closed:
		t.Errorf("closed, %v, while one appends", err)
	default:
	}
	close(leave)
	callers.Wait()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	wantRecords(t, all(t, mustOpen(t, fs, small)), "first")
}
