package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
)

func TestRecordsComeBack(t *testing.T) {
	for name, fs := range map[string]disk.FS{"in memory": powerloss.New(), "on disk": nil} {
		t.Run(name, func(t *testing.T) {
			if fs == nil {
				t.Chdir(t.TempDir())
				fs = disk.OS{}
			}
			l := mustOpen(t, fs, small)
			want := append(numbered(0, 40), "", strings.Repeat("long", 50))
			for _, r := range want {
				mustAppend(t, l, r)
			}
			wantRecords(t, all(t, l), want...)
			if s := l.Stats(); s.Segments < 5 {
				t.Errorf("all this is in %d segments of 256 bytes", s.Segments)
			}
			mustClose(t, l)
			l = mustOpen(t, fs, small)
			wantRecords(t, all(t, l), want...)
			if got := l.Recovered(); got != (journal.Recovery{}) {
				t.Errorf("recovered %+v from a log that was closed", got)
			}
		})
	}
}

func TestRecordsOfOneAppendFollowEachOther(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	mustAppend(t, l, "before")
	p := mustAppend(t, l, "one", "", "three")
	for _, want := range []string{"one", "", "three"} {
		got, err := l.Read(p, nil)
		if err != nil || string(got) != want {
			t.Fatalf("at %d is %q, %v, want %q", p, got, err, want)
		}
		p = journal.After(p, len(want))
	}
	if p != l.End() {
		t.Errorf("after the last record is %d, the end is %d", p, l.End())
	}
}

func TestAppendOfNothingIsNothing(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	if _, err := l.Append(); err != nil {
		t.Fatal(err)
	}
	wantRecords(t, all(t, l))
}

func TestReadUsesTheBufferThatItGets(t *testing.T) {
	l := mustOpen(t, powerloss.New(), journal.Options{})
	p := mustAppend(t, l, "small")
	big := mustAppend(t, l, strings.Repeat("x", 5000))
	buf := make([]byte, 0, 2048)
	got, err := l.Read(p, buf)
	if err != nil || &got[0] != &buf[:1][0] || cap(got) != cap(buf) {
		t.Errorf("%q, %v is not in the buffer", got, err)
	}
	if got, err = l.Read(big, buf); err != nil || len(got) != 5000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestPositionsWithoutARecordAreErrors(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	p := mustAppend(t, l, "first")
	for range 20 {
		mustAppend(t, l, "another one, a little longer")
	}
	if err := l.Drop(l.End()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(p, nil); !errors.Is(err, journal.ErrDropped) {
		t.Errorf("got %v, want ErrDropped", err)
	}
	if err := l.Scan(p, nil); !errors.Is(err, journal.ErrDropped) {
		t.Errorf("got %v, want ErrDropped", err)
	}
	for _, p := range []journal.Pos{l.End(), l.End() + 1000} {
		if _, err := l.Read(p, nil); err == nil {
			t.Errorf("something is at %d, the end", p)
		}
	}
	last := mustAppend(t, l, "last")
	for p := last + 1; p < l.End(); p++ {
		_, err := l.Read(p, nil)
		wantCorrupt(t, err)
	}
	wantCorrupt(t, l.Scan(last+1, func(journal.Pos, []byte) error { return nil }))
	_, err := l.Read(l.Stats().Oldest, nil)
	wantCorrupt(t, err)
}

func TestMarksAreNoRecords(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	mustAppend(t, l, "one")
	mustSync(t, l)
	mark := l.End()
	if p := mustAppend(t, l, "two"); p == mark {
		t.Fatal("no mark was written after a sync")
	}
	_, err := l.Read(mark, nil)
	wantCorrupt(t, err)
	wantRecords(t, from(t, l, mark), "two")
}

func TestScanGoesOnWhereItIsTold(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	var after []journal.Pos
	want := numbered(0, 30)
	for _, r := range want {
		mustAppend(t, l, r)
		after = append(after, l.End())
	}
	for i, p := range after {
		wantRecords(t, from(t, l, p), want[i+1:]...)
	}
}

func TestScanEndsWithTheErrorOfItsCallback(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	mustAppend(t, l, "one")
	mustAppend(t, l, "two")
	mine := errors.New("enough")
	calls := 0
	err := l.Scan(0, func(journal.Pos, []byte) error { calls++; return mine })
	if err != mine || calls != 1 { //nolint:errorlint // as it is
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestScanReadsWhatWasThereWhenItBegan(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	want := numbered(0, 10)
	for _, r := range want {
		mustAppend(t, l, r)
	}
	var got []string
	err := l.Scan(0, func(_ journal.Pos, record []byte) error {
		got = append(got, string(record))
		mustAppend(t, l, "later")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantRecords(t, got, want...)
}

func TestScanOfWhatIsDroppedMeanwhileFails(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	for _, r := range numbered(0, 30) {
		mustAppend(t, l, r)
	}
	err := l.Scan(0, func(p journal.Pos, _ []byte) error { return l.Drop(l.End()) })
	if !errors.Is(err, journal.ErrDropped) {
		t.Errorf("got %v, want ErrDropped", err)
	}
}

func TestMoreThanASegmentIsRefused(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	if _, err := l.Append(make([]byte, 256)); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if _, err := l.Append(make([]byte, 120), make([]byte, 120)); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	mustAppend(t, l, strings.Repeat("x", 256-40-8))
	mustAppend(t, l, strings.Repeat("x", 256-40-8))
}

func TestPositionsAreNotUsedAgain(t *testing.T) {
	fs := powerloss.New()
	var last journal.Pos
	for range 5 {
		l := mustOpen(t, fs, small)
		for range 10 {
			p := mustAppend(t, l, strings.Repeat("x", 30))
			if p <= last {
				t.Fatalf("%d after %d", p, last)
			}
			last = p
		}
		if err := l.Drop(l.End()); err != nil {
			t.Fatal(err)
		}
		mustClose(t, l)
	}
}

func TestRestartsAddNothing(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	mustAppend(t, l, "one")
	mustClose(t, l)
	size := len(content(t, fs, lastSegment(t, fs)))
	for range 3 {
		mustClose(t, mustOpen(t, fs, small))
	}
	if got := len(content(t, fs, lastSegment(t, fs))); got != size {
		t.Errorf("%d bytes, were %d", got, size)
	}
}

func TestSecondOpenerIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, fs := range map[string]disk.FS{"in memory": powerloss.New(), "on disk": disk.OS{}} {
		l := mustOpen(t, fs, small)
		_, err := journal.Open(fs, dir, small)
		if !errors.Is(err, disk.ErrLocked) {
			t.Errorf("%s: got %v, want ErrLocked", name, err)
		}
		mustAppend(t, l, "still mine")
		mustClose(t, l)
		wantRecords(t, all(t, mustOpen(t, fs, small)), "still mine")
	}
}

func TestClosedLogRefusesEverything(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	p := mustAppend(t, l, "one")
	mustClose(t, l)
	mustClose(t, l)
	_, appendErr := l.Append([]byte("two"))
	_, readErr := l.Read(p, nil)
	_, snapshotErr := l.Snapshot(nil)
	_, rotateErr := l.Rotate()
	for name, err := range map[string]error{
		"Append":     appendErr,
		"Read":       readErr,
		"Snapshot":   snapshotErr,
		"Rotate":     rotateErr,
		"Scan":       l.Scan(0, nil),
		"Sync":       l.Sync(t.Context()),
		"Drop":       l.Drop(p),
		"Checkpoint": l.Checkpoint(p, nil),
	} {
		if !errors.Is(err, journal.ErrClosed) {
			t.Errorf("%s: got %v, want ErrClosed", name, err)
		}
	}
}

func TestOptionsAreCheckedAtOnce(t *testing.T) {
	for want, o := range map[string]journal.Options{
		"SegmentBytes is 10":      {SegmentBytes: 10},
		"MaxBytes is 1000":        {SegmentBytes: 512, MaxBytes: 1000},
		"SnapshotBytes is -1":     {SnapshotBytes: -1},
		"SyncEvery is -1s":        {SyncEvery: -time.Second},
		"SegmentBytes is 1073741": {SegmentBytes: 1 << 30},
	} {
		_, err := journal.Open(powerloss.New(), dir, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	_, err := journal.Open(powerloss.New(), dir, journal.Options{SegmentBytes: 10, SyncEvery: -1})
	if err == nil || !strings.Contains(err.Error(), "SegmentBytes") || !strings.Contains(err.Error(), "SyncEvery") {
		t.Errorf("got %v, want both faults", err)
	}
}

func TestJournalIsForItsOwnerOnly(t *testing.T) {
	t.Chdir(t.TempDir())
	l := mustOpen(t, disk.OS{}, small)
	mustAppend(t, l, "secret")
	for _, name := range []string{dir, lastSegment(t, disk.OS{}), filepath.Join(dir, "lock")} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}
