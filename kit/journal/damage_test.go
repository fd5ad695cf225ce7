package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
)

// killedLog is a log of one segment that was killed: its bytes, and the records of
// each Append with the offset at which it ends.
func killedLog(t *testing.T) (segment []byte, groups [][]string, ends []int) {
	t.Helper()
	fs := powerloss.New()
	l := mustOpen(t, fs, journal.Options{SyncEvery: never})
	groups = [][]string{{"one"}, {"two", "and", "three"}, {""}, {"four", ""}, {"a longer one, the last"}}
	for _, g := range groups {
		mustAppend(t, l, g...)
		ends = append(ends, int(l.End()))
	}
	return content(t, fs.Clone(), lastSegment(t, fs)), groups, ends
}

func TestTornAtEveryByte(t *testing.T) {
	segment, groups, ends := killedLog(t)
	for cut := range len(segment) + 1 {
		for name, tail := range map[string][]byte{
			"nothing": nil,
			"zeros":   make([]byte, len(segment)-cut),
			"ones":    []byte(strings.Repeat("\xff", len(segment)-cut)),
		} {
			if cut >= 32 && cut < 40 && name != "nothing" {
				continue // it may happen to be whole
			}
			fs := powerloss.New()
			put(t, fs, filepath.Join(dir, "0000000000000000.log"), append(segment[:cut:cut], tail...))
			l, err := journal.Open(fs, dir, journal.Options{SyncEvery: never})
			if cut < 40 && name != "nothing" {
				// Records come only after the head is safe: it cannot be torn.
				wantCorrupt(t, err)
				continue
			}
			if err != nil {
				t.Fatalf("cut at %d, then %s: %v", cut, name, err)
			}
			var want []string
			end := 40
			for i, g := range groups {
				if ends[i] <= cut {
					want, end = append(want, g...), ends[i]
				}
			}
			wantRecords(t, all(t, l), want...)
			torn := cut - end + len(tail)
			if cut <= 40 && name == "nothing" {
				torn = 0 // a log that was not yet made
			}
			if got := l.Recovered(); got.Bytes != int64(torn) || (torn > 0 && got.At != journal.Pos(end)) {
				t.Fatalf("cut at %d, then %s: recovered %+v, want %d bytes at %d", cut, name, got, torn, end)
			}
			mustAppend(t, l, "after")
			mustClose(t, l)
			l = mustOpen(t, fs, journal.Options{SyncEvery: never})
			wantRecords(t, all(t, l), append(want, "after")...)
			mustClose(t, l)
		}
	}
}

// A log that was closed ends with a mark: no flipped bit can pass for a torn
// end with a record in it.
func TestEveryFlippedBitIsFound(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	want := numbered(0, 12)
	for i, r := range want {
		mustAppend(t, l, r)
		if i%5 == 0 {
			mustSync(t, l)
		}
	}
	mustClose(t, l)
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name = filepath.Join(dir, name)
		whole := content(t, fs, name)
		for i := range 8 * len(whole) {
			flipped := append([]byte(nil), whole...)
			flipped[i/8] ^= 1 << (i % 8)
			fs := fs.Clone()
			put(t, fs, name, flipped)
			l, err := journal.Open(fs, dir, small)
			if err != nil {
				if corrupt := wantCorrupt(t, err); corrupt.Offset > int64(i/8) && corrupt.File == name {
					t.Fatalf("byte %d of %s is damaged, the error says %v", i/8, name, err)
				}
				continue
			}
			wantRecords(t, all(t, l), want...) // it was the last mark
			mustClose(t, l)
		}
	}
}

func TestAdviceOfACorruptErrorHelps(t *testing.T) {
	t.Chdir(t.TempDir())
	l := mustOpen(t, disk.OS{}, small)
	want := numbered(0, 30)
	var third string
	for i, r := range want {
		mustAppend(t, l, r)
		if i == 12 {
			third = lastSegment(t, disk.OS{})
		}
	}
	mustClose(t, l)
	b, err := os.ReadFile(third)
	if err != nil {
		t.Fatal(err)
	}
	b[60] ^= 1
	if err := os.WriteFile(third, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = journal.Open(disk.OS{}, dir, small)
	corrupt := wantCorrupt(t, err)
	if corrupt.File != third || !strings.Contains(err.Error(), "truncate -s") {
		t.Errorf("%s is damaged, the error is %v", third, err)
	}
	obey(t, corrupt)
	got := all(t, mustOpen(t, disk.OS{}, small))
	if len(got) == 0 || len(got) > 12 {
		t.Errorf("%d records are left", len(got))
	}
	wantRecords(t, got, want[:len(got)]...)
}

var advice = regexp.MustCompile(`remove the \.log files whose names sort after this one and the \.snap files whose names sort after (\S+), and cut this one \(truncate -s (\d+), or remove it if that is 0\)`)

// obey does in dir what a CorruptError advises who has no backup.
func obey(t *testing.T, corrupt *journal.CorruptError) {
	t.Helper()
	remove := func(name string) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(corrupt.Error(), "remove this file") {
		remove(corrupt.File)
		return
	}
	said := advice.FindStringSubmatch(corrupt.Error())
	if said == nil {
		t.Fatalf("no advice in %v", corrupt)
	}
	names, err := disk.OS{}.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") && name > filepath.Base(corrupt.File) || strings.HasSuffix(name, ".snap") && name > said[1] {
			remove(filepath.Join(dir, name))
		}
	}
	if said[2] == "0" {
		remove(corrupt.File)
		return
	}
	size, err := strconv.ParseInt(said[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(corrupt.File, size); err != nil {
		t.Fatal(err)
	}
}

// checkpointed is a closed log in dir: a checkpoint, behind which the log begins, and
// records behind it, in several segments. It returns the checkpoint's file, and
// the segment that has at least the first of those records, at that offset.
func checkpointed(t *testing.T, records []string) (snap, segment string, off int64) {
	t.Helper()
	t.Chdir(t.TempDir())
	l := mustOpen(t, disk.OS{}, small)
	for _, r := range numbered(0, 12) {
		mustAppend(t, l, r)
	}
	at, err := l.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint(l, at, "all before"); err != nil {
		t.Fatal(err)
	}
	if err := l.Drop(at); err != nil {
		t.Fatal(err)
	}
	segment = lastSegment(t, disk.OS{})
	first := mustAppend(t, l, records[0])
	for _, r := range records[1:] {
		mustAppend(t, l, r)
	}
	begin := l.Stats().Oldest
	mustClose(t, l)
	return filepath.Join(dir, fmt.Sprintf("%016x.snap", int64(at))), segment, int64(first - begin)
}

func flip(t *testing.T, name string, off int64) {
	t.Helper()
	b := content(t, disk.OS{}, name)
	b[off] ^= 1
	put(t, disk.OS{}, name, b)
}

// What was checkpointed before the damage is no part of it.
func TestAdviceKeepsTheCheckpoint(t *testing.T) {
	want := numbered(0, 12)
	_, segment, first := checkpointed(t, want)
	flip(t, segment, int64(journal.After(journal.Pos(first), len(want[0])))+10)
	_, err := journal.Open(disk.OS{}, dir, small)
	obey(t, wantCorrupt(t, err))
	snapshot, rest := state(t, mustOpen(t, disk.OS{}, small))
	wantRecords(t, snapshot, "all before")
	wantRecords(t, rest, want[0])
}

// A checkpoint stands for records that are nowhere else; the log behind it is whole.
func TestAdviceForACheckpointKeepsTheLog(t *testing.T) {
	want := numbered(0, 12)
	snap, _, _ := checkpointed(t, want)
	flip(t, snap, 50)
	l := mustOpen(t, disk.OS{}, small)
	_, err := l.Snapshot(func([]byte) error { return nil })
	corrupt := wantCorrupt(t, err)
	mustClose(t, l)
	obey(t, corrupt)
	snapshot, rest := state(t, mustOpen(t, disk.OS{}, small))
	wantRecords(t, snapshot)
	wantRecords(t, rest, want...)
}

func TestMissingSegmentIsFound(t *testing.T) {
	fs := powerloss.New()
	l := mustOpen(t, fs, small)
	for _, r := range numbered(0, 12) {
		mustAppend(t, l, r)
	}
	middle := lastSegment(t, fs)
	for _, r := range numbered(12, 30) {
		mustAppend(t, l, r)
	}
	mustClose(t, l)
	if err := fs.Remove(middle); err != nil {
		t.Fatal(err)
	}
	_, err := journal.Open(fs, dir, small)
	wantCorrupt(t, err)
}

// Also where nobody looks into the segment, because a checkpoint stands for it.
func TestSegmentThatGrewOrShrankIsFound(t *testing.T) {
	for name, change := range map[string]func(b []byte) []byte{
		"grew":   func(b []byte) []byte { return append(b, "more"...) },
		"shrank": func(b []byte) []byte { return b[:len(b)-1] },
	} {
		fs := powerloss.New()
		l := mustOpen(t, fs, small)
		for _, r := range numbered(0, 12) {
			mustAppend(t, l, r)
		}
		mustCheckpoint(t, l, "snapshot")
		mustAppend(t, l, "after")
		at := l.Stats().Oldest
		mustClose(t, l)
		first := filepath.Join(dir, fmt.Sprintf("%016x.log", int64(at)))
		last := lastSegment(t, fs)
		names, err := fs.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if n = filepath.Join(dir, n); n < first || n >= last || !strings.HasSuffix(n, ".log") {
				continue
			}
			fs := fs.Clone()
			put(t, fs, n, change(content(t, fs, n)))
			_, err := journal.Open(fs, dir, small)
			if corrupt := wantCorrupt(t, err); corrupt.File != n {
				t.Errorf("%s %s: %v", n, name, err)
			}
		}
	}
}

// A frame is good in its place only: what a disk wrote to the wrong one, or what
// another log left there, is none.
func TestFrameInTheWrongPlaceIsNone(t *testing.T) {
	build := func() (*powerloss.FS, []journal.Pos, []byte) {
		fs := powerloss.New()
		l := mustOpen(t, fs, journal.Options{SyncEvery: never})
		at := []journal.Pos{mustAppend(t, l, "one"), mustAppend(t, l, "two"), mustAppend(t, l, "six")}
		mustClose(t, l)
		return fs, at, content(t, fs, lastSegment(t, fs))
	}
	fs, at, segment := build()
	_, _, other := build()
	size := int(at[1] - at[0])
	for name, from := range map[string][]byte{
		"another place": segment[at[0]:],
		"another log":   other[at[1]:],
	} {
		moved := append([]byte(nil), segment...)
		copy(moved[at[1]:], from[:size])
		put(t, fs, lastSegment(t, fs), moved)
		_, err := journal.Open(fs, dir, journal.Options{})
		if corrupt := wantCorrupt(t, err); corrupt.Offset != int64(at[1]) {
			t.Errorf("a frame from %s: %v", name, err)
		}
	}
}

func TestSegmentOfAnotherLogIsFound(t *testing.T) {
	build := func() *powerloss.FS {
		fs := powerloss.New()
		l := mustOpen(t, fs, small)
		for _, r := range numbered(0, 10) {
			mustAppend(t, l, r)
		}
		mustClose(t, l)
		return fs
	}
	fs, other := build(), build()
	name := lastSegment(t, other)
	put(t, fs, name, content(t, other, name))
	l, err := journal.Open(fs, dir, small)
	if err != nil {
		wantCorrupt(t, err)
		return
	}
	t.Errorf("it was taken: %q", all(t, l))
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	fs := powerloss.New()
	for _, name := range []string{"README", "00000000000000ff.log.bak", "FF.log", "00000000000000FF.log"} {
		put(t, fs, filepath.Join(dir, name), []byte("mine"))
	}
	l := mustOpen(t, fs, small)
	mustAppend(t, l, "one")
	mustClose(t, l)
	wantRecords(t, all(t, mustOpen(t, fs, small)), "one")
	if got := string(content(t, fs, filepath.Join(dir, "README"))); got != "mine" {
		t.Errorf("README is %q", got)
	}
}
