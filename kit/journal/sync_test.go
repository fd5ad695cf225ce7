package journal_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
)

// slowSync is a disk whose syncs wait for a token each.
type slowSync struct {
	disk.FS
	allow chan struct{}
}

type slowFile struct {
	disk.File
	allow chan struct{}
}

func (s slowSync) Create(name string) (disk.File, error) {
	f, err := s.FS.Create(name)
	return slowFile{f, s.allow}, err
}

func (s slowSync) Open(name string) (disk.File, error) {
	f, err := s.FS.Open(name)
	return slowFile{f, s.allow}, err
}

func (f slowFile) Sync() error {
	<-f.allow
	return f.File.Sync()
}

// survives says how many records a loss of power leaves at least.
func survives(t *testing.T, fs *powerloss.FS) int {
	t.Helper()
	least := 1 << 30
	for seed := range uint64(20) {
		l := mustOpen(t, fs.AfterCrash(newRand(seed)), small)
		least = min(least, len(all(t, l)))
		mustClose(t, l)
	}
	return least
}

func TestRecordsAreSyncedInTimeAndNotAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var safe atomic.Int64
		l := mustOpen(t, powerloss.New(), journal.Options{
			OnSync: func(_ time.Duration, bytes int64, err error) { safe.Add(bytes) },
		})
		begin := int64(l.End())
		for range 3 {
			before := l.Stats().Syncs
			mustAppend(t, l, "one")
			time.Sleep(20 * time.Millisecond)
			mustAppend(t, l, "two")
			time.Sleep(29 * time.Millisecond)
			synctest.Wait()
			if s := l.Stats(); s.Syncs != before || s.Unsynced < 22 {
				t.Fatalf("synced after 49 ms: %+v", s)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if s := l.Stats(); s.Syncs != before+1 || s.Unsynced != 0 || s.Synced != l.End() {
				t.Fatalf("not synced after 50 ms: %+v", s)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if got := l.Stats().Syncs; got != before+1 {
				t.Fatalf("%d syncs of nothing in an hour", got-before-1)
			}
		}
		if got := safe.Load(); got != int64(l.End())-begin {
			t.Errorf("the hook was told of %d bytes, of %d", got, int64(l.End())-begin)
		}
		mustClose(t, l)
	})
}

func TestAlwaysReturnsAfterTheSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allow := make(chan struct{}, 10)
		allow <- struct{}{} // for Open
		l := mustOpen(t, slowSync{powerloss.New(), allow}, journal.Options{Always: true})
		returned := 0
		var mu sync.Mutex
		for range 5 {
			go func() {
				mustAppend(t, l, "one")
				mu.Lock()
				returned++
				mu.Unlock()
			}()
		}
		synctest.Wait()
		if returned != 0 {
			t.Errorf("%d returned before the sync", returned)
		}
		allow <- struct{}{}
		allow <- struct{}{} // for those who came after the first began
		synctest.Wait()
		if returned != 5 {
			t.Errorf("%d of 5 returned after the syncs", returned)
		}
		if got := l.Stats().Syncs; got > 2 {
			t.Errorf("%d syncs for 5 who waited together", got)
		}
		allow <- struct{}{}
		mustClose(t, l)
	})
}

func TestSyncWaitsAsLongAsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allow := make(chan struct{}, 10)
		allow <- struct{}{} // for Open
		l := mustOpen(t, slowSync{powerloss.New(), allow}, small)
		mustAppend(t, l, "one")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("no patience"))
		defer cancel()
		began := time.Now()
		if err := l.Sync(ctx); err == nil || !errors.Is(err, context.Cause(ctx)) {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("waited %v", waited)
		}
		allow <- struct{}{}
		mustSync(t, l)
		if s := l.Stats(); s.Unsynced != 0 || s.Syncs != 1 {
			t.Errorf("%+v", s)
		}
		mustClose(t, l)
	})
}

func TestAppendDoesNotWaitForASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allow := make(chan struct{}, 10)
		allow <- struct{}{} // for Open
		l := mustOpen(t, slowSync{powerloss.New(), allow}, journal.Options{})
		mustAppend(t, l, "one")
		time.Sleep(time.Second) // the sync hangs
		mustAppend(t, l, "two")
		wantRecords(t, all(t, l), "one", "two")
		close(allow)
		mustClose(t, l)
	})
}

func TestCloseSyncs(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	mustAppend(t, l, "one")
	mustClose(t, l)
	if got := survives(t, fs); got != 1 {
		t.Errorf("%d records survive", got)
	}
}

func TestFailedSyncEndsAllWriting(t *testing.T) {
	for _, kind := range []string{"sync", "syncdir"} {
		fs := powerloss.New()
		var failed error
		o := small
		o.OnSync = func(_ time.Duration, _ int64, err error) { failed = err }
		l := mustOpen(t, fs, o)
		mustAppend(t, l, "safe")
		mustSync(t, l)
		var p journal.Pos
		for _, r := range numbered(0, 10) { // in new segments, too
			p = mustAppend(t, l, r)
		}
		fs.SetFail(func(op powerloss.Op) error {
			if op.Kind == kind {
				return syscall.EIO
			}
			return nil
		})
		err := l.Sync(t.Context())
		if !errors.Is(err, journal.ErrBroken) || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: got %v", kind, err)
		}
		fs.SetFail(nil) // the disk claims to be well again
		_, appendErr := l.Append([]byte("more"))
		_, rotateErr := l.Rotate()
		for name, err := range map[string]error{
			"Append":     appendErr,
			"Sync":       l.Sync(t.Context()),
			"Drop":       l.Drop(p),
			"Rotate":     rotateErr,
			"Checkpoint": checkpoint(l, l.End()),
			"Stats":      l.Stats().Broken,
		} {
			if !errors.Is(err, journal.ErrBroken) {
				t.Errorf("%s: %s returns %v, want ErrBroken", kind, name, err)
			}
		}
		if got := all(t, l); len(got) != 11 {
			t.Errorf("%s: %d records can be read, want 11", kind, len(got))
		}
		if err := l.Close(); !errors.Is(err, journal.ErrBroken) {
			t.Errorf("%s: Close returns %v, want ErrBroken", kind, err)
		}
		if !errors.Is(failed, syscall.EIO) {
			t.Errorf("%s: the hook was told %v", kind, failed)
		}
		if got := survives(t, fs); got < 1 {
			t.Errorf("%s: %d records survive", kind, got)
		}
	}
}

func TestFailedSyncFailsThoseWhoWaitForIt(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, journal.Options{Always: true})
	fs.SetFail(func(op powerloss.Op) error {
		if op.Kind == "sync" {
			return syscall.EIO
		}
		return nil
	})
	if _, err := l.Append([]byte("one")); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("got %v, want ErrBroken", err)
	}
	_ = l.Close() // broken, as was said
}
