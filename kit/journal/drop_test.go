package journal_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
)

func TestFullLogTakesNothingUntilSomethingIsDropped(t *testing.T) {
	fs, o := powerloss.New(), small
	o.MaxBytes = 1024
	l := mustOpen(t, fs, o)
	onDisk := func() (sum int) {
		names, err := fs.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			sum += len(content(t, fs, filepath.Join(dir, name)))
		}
		return sum
	}
	record := bytes.Repeat([]byte{'x'}, 70)
	for range 10 {
		appended := 0
		for {
			_, err := l.Append(record)
			if errors.Is(err, journal.ErrFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			appended++
		}
		if appended == 0 {
			t.Fatal("no room after all was dropped")
		}
		if got := onDisk(); got > 1024 || int64(got) != l.Stats().Bytes {
			t.Fatalf("%d bytes are on the disk, the log says %d", got, l.Stats().Bytes)
		}
		if err := l.Drop(l.End()); err != nil {
			t.Fatal(err)
		}
	}
}

// A segment that was full under the old options must not keep the log full
// under the new ones.
func TestSegmentLargerThanTheOptionsCanBeDropped(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, journal.Options{SegmentBytes: 4096, SyncEvery: never})
	for range 3 {
		mustAppend(t, l, strings.Repeat("x", 1000))
	}
	mustClose(t, l)
	o := small
	o.MaxBytes = 512
	l = mustOpen(t, fs, o)
	if _, err := l.Append([]byte("x")); !errors.Is(err, journal.ErrFull) {
		t.Fatalf("got %v, want ErrFull", err)
	}
	if err := l.Drop(l.End()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, "x")
	wantRecords(t, all(t, l), "x")
}

// On a full disk there is no room for a new segment in place of a full one before the
// others are gone.
func TestDropMakesRoomOnAFullDisk(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	half := strings.Repeat("x", 100) // two fill a segment to the last byte
	for range 6 {
		mustAppend(t, l, half)
	}
	if s := l.Stats(); s.Segments != 3 || s.Bytes != 3*256 {
		t.Fatalf("%+v", s)
	}
	fs.SetCapacity(l.Stats().Bytes)
	if err := l.Drop(l.End()); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.Segments != 1 || s.Bytes != 40 {
		t.Errorf("%+v", s)
	}
	mustAppend(t, l, half)
}

func TestDropKeepsWhatComesAfter(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	want := numbered(0, 40)
	var at []journal.Pos
	for _, r := range want {
		at = append(at, mustAppend(t, l, r))
	}
	if err := l.Drop(at[25]); err != nil {
		t.Fatal(err)
	}
	if oldest := l.Stats().Oldest; oldest > at[25] || oldest < at[15] {
		t.Errorf("the log begins at %d", oldest)
	}
	wantRecords(t, from(t, l, at[25]), want[25:]...)
	mustClose(t, l)
	l = mustOpen(t, fs, small)
	wantRecords(t, from(t, l, at[25]), want[25:]...)
}

// What was written before Rotate can go, however little it is and whatever is
// written meanwhile.
func TestWhatIsBeforeARotationIsOnNoDisk(t *testing.T) {
	for seed := range uint64(200) {
		fs, rng := powerloss.New(), newRand(seed)
		l := mustOpen(t, fs, journal.Options{SyncEvery: never})
		mustCheckpoint(t, l, "an old secret")
		mustAppend(t, l, "a secret")
		at, err := l.Rotate()
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, "meanwhile")
		if err := checkpoint(l, at, "a digest"); err != nil {
			t.Fatal(err)
		}
		if err := l.Drop(at); err != nil {
			t.Fatal(err)
		}
		after := fs.Crash(rng)
		wantNowhere(t, after, "secret")
		l = mustOpen(t, after, small)
		snapshot, rest := state(t, l)
		wantRecords(t, snapshot, "a digest")
		if len(rest) > 0 {
			wantRecords(t, rest, "meanwhile")
		}
	}
}

// wantNowhere fails if a file on a disk has that text.
func wantNowhere(t *testing.T, fs disk.FS, text string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name = filepath.Join(dir, name); bytes.Contains(content(t, fs, name), []byte(text)) {
			t.Errorf("%s has %q", name, text)
		}
	}
}

func TestRotationWithoutARecordChangesNothing(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	for range 3 {
		mustAppend(t, l, "x")
		for range 3 {
			at, err := l.Rotate()
			if err != nil || at != l.End() {
				t.Fatalf("%d, %v, the end is %d", at, err, l.End())
			}
		}
		mustClose(t, l)
		l = mustOpen(t, fs, small)
	}
	if s := l.Stats(); s.Segments != 4 {
		t.Errorf("%d segments", s.Segments)
	}
	wantRecords(t, all(t, l), "x", "x", "x")
}
