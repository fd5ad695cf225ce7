package journal_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"quartet/kit/journal"
	"quartet/kit/journal/powerloss"
)

// checkpoint makes one with these records at the end of the log.
func checkpoint(l *journal.Log, at journal.Pos, records ...string) error {
	return l.Checkpoint(at, func(add func([]byte) error) error {
		for _, r := range records {
			if err := add([]byte(r)); err != nil {
				return err
			}
		}
		return nil
	})
}

func mustCheckpoint(t *testing.T, l *journal.Log, records ...string) {
	t.Helper()
	if err := checkpoint(l, l.End(), records...); err != nil {
		t.Fatal(err)
	}
}

// state is the last checkpoint and what follows it.
func state(t *testing.T, l *journal.Log) (snapshot, rest []string) {
	t.Helper()
	at, err := l.Snapshot(func(record []byte) error {
		snapshot = append(snapshot, string(record))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return snapshot, from(t, l, at)
}

func TestCheckpointStandsForWhatIsBeforeIt(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	before := numbered(0, 20)
	for _, r := range before {
		mustAppend(t, l, r)
	}
	snapshot, rest := state(t, l)
	wantRecords(t, snapshot)
	wantRecords(t, rest, before...)

	mustCheckpoint(t, l, "all", "", strings.Repeat("of it", 30_000))
	after := numbered(20, 30)
	for _, r := range after {
		mustAppend(t, l, r)
	}
	check := func() {
		t.Helper()
		snapshot, rest := state(t, l)
		wantRecords(t, snapshot, "all", "", strings.Repeat("of it", 30_000))
		wantRecords(t, rest, after...)
	}
	check()
	wantRecords(t, all(t, l), append(before, after...)...) // until it is dropped
	mustClose(t, l)
	l = mustOpen(t, fs, small)
	check()
	if err := l.Drop(l.End()); err != nil {
		t.Fatal(err)
	}
	snapshot, rest = state(t, l)
	if len(snapshot) != 3 || len(rest) > len(after) {
		t.Errorf("after Drop: %d records, then %d", len(snapshot), len(rest))
	}
	mustCheckpoint(t, l)
	mustCheckpoint(t, l, "another at the same place")
	mustClose(t, l)
	l = mustOpen(t, fs, small)
	snapshot, rest = state(t, l)
	wantRecords(t, snapshot, "another at the same place")
	wantRecords(t, rest)
	if names, _ := fs.List(dir); strings.Count(strings.Join(names, " "), ".snap") != 1 {
		t.Errorf("the folder has %v", names)
	}
}

func TestFailedCheckpointLeavesTheLastOne(t *testing.T) {
	fs, o := powerloss.New(), small
	o.SnapshotBytes = 1000
	l := mustOpen(t, fs, o)
	mustAppend(t, l, "one")
	mustCheckpoint(t, l, "good")
	mustAppend(t, l, "two")

	mine := errors.New("changed my mind")
	if err := l.Checkpoint(l.End(), func(func([]byte) error) error { return mine }); err != mine { //nolint:errorlint // as it is
		t.Errorf("got %v", err)
	}
	if err := checkpoint(l, l.End(), strings.Repeat("x", 1000)); !errors.Is(err, journal.ErrFull) {
		t.Errorf("got %v, want ErrFull", err)
	}
	err := l.Checkpoint(l.End(), func(add func([]byte) error) error {
		_ = add(make([]byte, 1000)) // does not look
		return nil
	})
	if !errors.Is(err, journal.ErrFull) {
		t.Errorf("got %v, want ErrFull", err)
	}
	if err := checkpoint(l, l.End()+1); err == nil {
		t.Error("a checkpoint of the future")
	}
	if err := checkpoint(l, 1); err == nil {
		t.Error("a checkpoint before the last")
	}
	for range 2 {
		snapshot, rest := state(t, l)
		wantRecords(t, snapshot, "good")
		wantRecords(t, rest, "two")
		names, err := fs.List(dir)
		if err != nil || strings.Contains(strings.Join(names, " "), "tmp") {
			t.Errorf("the folder has %v, %v", names, err)
		}
		mustClose(t, l)
		l = mustOpen(t, fs, o)
	}
}

func TestSnapshotEndsWithTheErrorOfItsCallback(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	mustCheckpoint(t, l, "one", "two")
	mine := errors.New("enough")
	if _, err := l.Snapshot(func([]byte) error { return mine }); err != mine { //nolint:errorlint // as it is
		t.Errorf("got %v", err)
	}
}

func TestUnfinishedCheckpointIsRemoved(t *testing.T) {
	fs := powerloss.New()
	name := filepath.Join(dir, "snap.tmp")
	put(t, fs, name, []byte("torn"))
	l := mustOpen(t, fs, small)
	mustAppend(t, l, "one")
	if names, _ := fs.List(dir); strings.Contains(strings.Join(names, " "), "tmp") {
		t.Errorf("the folder has %v", names)
	}
}

func TestLogGoesOnWhileACheckpointIsWritten(t *testing.T) {
	l := mustOpen(t, powerloss.New(), small)
	mustAppend(t, l, "before")
	err := l.Checkpoint(l.End(), func(add func([]byte) error) error {
		mustAppend(t, l, "meanwhile")
		mustSync(t, l)
		wantRecords(t, all(t, l), "before", "meanwhile")
		return add([]byte("snapshot"))
	})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, rest := state(t, l)
	wantRecords(t, snapshot, "snapshot")
	wantRecords(t, rest, "meanwhile")
}

func TestEveryFlippedBitOfACheckpointIsFound(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	mustAppend(t, l, "one")
	mustCheckpoint(t, l, "a", "bc", "")
	mustClose(t, l)
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".snap") {
			continue
		}
		name = filepath.Join(dir, name)
		whole := content(t, fs, name)
		for i := range 8 * len(whole) {
			flipped := append([]byte(nil), whole...)
			flipped[i/8] ^= 1 << (i % 8)
			fs := fs.Clone()
			put(t, fs, name, flipped)
			l := mustOpen(t, fs, small)
			_, err := l.Snapshot(func([]byte) error { return nil })
			if corrupt := wantCorrupt(t, err); corrupt.File != name {
				t.Fatalf("%s is damaged, the error says %v", name, err)
			}
			mustClose(t, l)
		}
		return
	}
	t.Fatalf("no checkpoint among %v", names)
}

func TestCheckpointWithoutItsLogIsFound(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	mustAppend(t, l, "one")
	mustCheckpoint(t, l, "snapshot")
	mustClose(t, l)
	if err := fs.Remove(lastSegment(t, fs)); err != nil {
		t.Fatal(err)
	}
	_, err := journal.Open(fs, dir, small)
	wantCorrupt(t, err)
}

// What a checkpoint stands for is not read again by Open, but by who reads it.
func TestDamageBeforeACheckpointDoesNotStopTheStart(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	var p journal.Pos
	for range 20 {
		p = mustAppend(t, l, "a record of some length")
		if lastSegment(t, fs) != filepath.Join(dir, "0000000000000000.log") {
			break
		}
	}
	first := mustAppend(t, l, "x") // in the second segment, like p
	mustCheckpoint(t, l, "snapshot")
	mustAppend(t, l, "y")
	mustClose(t, l)
	name := filepath.Join(dir, "0000000000000000.log")
	b := content(t, fs, name)
	b[50] ^= 1
	put(t, fs, name, b)
	l = mustOpen(t, fs, small)
	snapshot, rest := state(t, l)
	wantRecords(t, snapshot, "snapshot")
	wantRecords(t, rest, "y")
	wantRecords(t, from(t, l, p), "a record of some length", "x", "y")
	wantRecords(t, from(t, l, first), "x", "y")
	wantCorrupt(t, l.Scan(0, func(journal.Pos, []byte) error { return nil }))
}
