package heard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/heard"
	"quartet/services/botd/internal/store"
)

func open(t *testing.T, fs *powerloss.FS) (*heard.Book, *store.Store) {
	t.Helper()
	w := store.New(fs, store.Options{Dir: "state"})
	b := heard.New(w)
	if err := w.Open(b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return b, w
}

func TestLastTimeOutlivesAKill(t *testing.T) {
	fs := powerloss.New()
	b, w := open(t, fs)
	if !b.Last().IsZero() {
		t.Error("heard of before anything was")
	}
	at := time.UnixMilli(1_700_000_000_000)
	for n := range 3 {
		if err := b.Note(at.Add(time.Duration(n) * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Note(at); err != nil { // the clock was turned back
		t.Fatal(err)
	}
	want := at.Add(2 * time.Second)
	remembers(t, fs, w, want)
}

// remembers checks what later lives read, before and after the store is shortened.
func remembers(t *testing.T, fs *powerloss.FS, w *store.Store, want time.Time) {
	t.Helper()
	killed, _ := open(t, fs.Clone())
	if got := killed.Last(); !got.Equal(want) {
		t.Errorf("after a kill %v, want %v", got, want)
	}
	if err := w.Compact(); err != nil {
		t.Fatal(err)
	}
	short, _ := open(t, fs.Clone())
	if got := short.Last(); !got.Equal(want) {
		t.Errorf("after the store was shortened %v, want %v", got, want)
	}
}

// A clock that was ahead is believed until it is set, and no longer.
func TestClockThatWasAheadIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := powerloss.New()
		b, w := open(t, fs)
		if err := b.Note(time.Now().Add(365 * 24 * time.Hour)); err != nil {
			t.Fatal(err)
		}
		var want time.Time
		for range 3 {
			time.Sleep(5 * time.Second)
			want = time.Now()
			if err := b.Note(want); err != nil {
				t.Fatal(err)
			}
		}
		remembers(t, fs, w, want)
	})
}

func TestForeignRecordIsRefused(t *testing.T) {
	if err := heard.New(store.New(nil, store.Options{})).Apply([]byte("x")); err == nil {
		t.Error("taken")
	}
}
