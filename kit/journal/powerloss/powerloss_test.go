package powerloss_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func create(t *testing.T, f disk.FS, name string) disk.File {
	t.Helper()
	file, err := f.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func write(t *testing.T, f disk.File, off int64, b string) {
	t.Helper()
	if _, err := f.WriteAt([]byte(b), off); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read is the content of a file, "absent" without one.
func read(t *testing.T, f disk.FS, name string) string {
	t.Helper()
	file, err := f.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "absent"
	}
	must(t, err)
	size, err := file.Size()
	must(t, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = file.ReadAt(b, 0)
		must(t, err)
	}
	return string(b)
}

// outcomes are the contents that a file may have after a loss of power.
func outcomes(t *testing.T, f *powerloss.FS, name string) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	for seed := range uint64(3000) {
		seen[read(t, f.AfterCrash(newRand(seed)), name)] = true
	}
	return seen
}

// wantOutcomes checks that a file may have these contents and no others.
func wantOutcomes(t *testing.T, f *powerloss.FS, name string, want ...string) {
	t.Helper()
	got := outcomes(t, f, name)
	for _, content := range want {
		if !got[content] || len(got) != len(want) {
			t.Errorf("%s is one of %q, want %q", name, slices.Sorted(maps.Keys(got)), want)
			return
		}
	}
}

func TestSyncedBytesOfASyncedNameSurvive(t *testing.T) {
	f := powerloss.New()
	a := create(t, f, "d/a")
	write(t, a, 0, "synced")
	must(t, a.Sync())
	must(t, f.SyncDir("d"))
	wantOutcomes(t, f, "d/a", "synced")
}

func TestUnsyncedNameMayBeLost(t *testing.T) {
	f := powerloss.New()
	a := create(t, f, "d/a")
	write(t, a, 0, "synced")
	must(t, a.Sync())
	must(t, f.SyncDir("another"))
	wantOutcomes(t, f, "d/a", "synced", "absent")
}

func TestUnsyncedRenameAndRemovalMayNotHaveHappened(t *testing.T) {
	f := powerloss.New()
	for _, name := range []string{"d/a", "d/b", "d/c"} {
		file := create(t, f, name)
		write(t, file, 0, name)
		must(t, file.Sync())
	}
	must(t, f.SyncDir("d"))
	must(t, f.Rename("d/a", "d/b"))
	must(t, f.Remove("d/c"))
	wantOutcomes(t, f, "d/b", "d/a", "d/b")
	wantOutcomes(t, f, "d/c", "d/c", "absent")
	both := map[string]bool{}
	for seed := range uint64(100) {
		after := f.AfterCrash(newRand(seed))
		both[read(t, after, "d/b")+" "+read(t, after, "d/c")] = true
	}
	if len(both) != 4 {
		t.Errorf("the two are not independent: %v", both)
	}
}

func TestUnsyncedTailHasAnyFate(t *testing.T) {
	f := powerloss.New()
	a := create(t, f, "d/a")
	write(t, a, 0, "synced")
	must(t, a.Sync())
	must(t, f.SyncDir("d"))
	tail := strings.Repeat("t", 1000)
	write(t, a, 6, tail)
	lengths, garbage, zeros, hole := map[int]bool{}, false, false, false
	for got := range outcomes(t, f, "d/a") {
		if !strings.HasPrefix(got, "synced") {
			t.Fatalf("synced bytes are lost: %v", got)
		}
		lengths[len(got)] = true
		rest := []byte(got[6:])
		garbage = garbage || len(bytes.Trim(rest, "t\x00")) > 0
		zeros = zeros || bytes.Contains(rest, make([]byte, 400))
		hole = hole || len(rest) == 1000 && rest[0] != 't' && rest[999] == 't'
	}
	if len(lengths) < 500 || !lengths[6] || !lengths[1006] || !garbage || !zeros || !hole {
		t.Errorf("%d lengths, garbage %v, zeros %v, a hole %v", len(lengths), garbage, zeros, hole)
	}
}

func TestUnsyncedOverwriteMayBeEither(t *testing.T) {
	f := powerloss.New()
	a := create(t, f, "d/a")
	write(t, a, 0, "abcdef")
	must(t, a.Sync())
	must(t, f.SyncDir("d"))
	write(t, a, 2, "X")
	got := outcomes(t, f, "d/a")
	if !got["abcdef"] || !got["abXdef"] {
		t.Errorf("%v", got)
	}
	for s := range got {
		if len(s) != 6 || s[:2] != "ab" || s[3:] != "def" {
			t.Errorf("bytes that nobody wrote to changed: %q", s)
		}
	}
}

func TestUnsyncedTruncationMayNotHaveHappened(t *testing.T) {
	f := powerloss.New()
	a := create(t, f, "d/a")
	write(t, a, 0, "abcdef")
	must(t, a.Sync())
	must(t, f.SyncDir("d"))
	must(t, a.Truncate(3))
	got := outcomes(t, f, "d/a")
	if !got["abc"] || !got["abcdef"] {
		t.Errorf("%v", got)
	}
	must(t, a.Sync())
	wantOutcomes(t, f, "d/a", "abc")
}

func TestWhatWasCutOffMayBeThere(t *testing.T) {
	f := powerloss.New()
	a := create(t, f, "d/a")
	must(t, f.SyncDir("d"))
	write(t, a, 0, "abcdef")
	must(t, a.Truncate(0))
	write(t, a, 0, "XY")
	got := outcomes(t, f, "d/a")
	if !got["XY"] || !got["XYcdef"] || !got["XYc"] {
		t.Errorf("%v", got)
	}
	must(t, a.Sync())
	wantOutcomes(t, f, "d/a", "XY")
}

func TestFailedSyncForgetsWhatItShouldHaveSaved(t *testing.T) {
	f := powerloss.New()
	a := create(t, f, "d/a")
	must(t, f.SyncDir("d"))
	f.SetFail(func(op powerloss.Op) error {
		if op.Kind == "sync" {
			return syscall.EIO
		}
		return nil
	})
	write(t, a, 0, "lost")
	if err := a.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v, want EIO", err)
	}
	f.SetFail(nil)
	write(t, a, 4, "saved")
	must(t, a.Sync())
	if got := read(t, f, "d/a"); got != "lostsaved" {
		t.Errorf("the process reads %v", got)
	}
	got := outcomes(t, f, "d/a")
	if !got["\x00\x00\x00\x00saved"] {
		t.Errorf("%v", got)
	}
	for s := range got {
		if !strings.HasSuffix(s, "saved") {
			t.Errorf("what was synced is lost: %q", s)
		}
	}
	write(t, a, 0, "anew")
	must(t, a.Sync())
	wantOutcomes(t, f, "d/a", "anewsaved")
}

func TestFullDiskTakesWhatFits(t *testing.T) {
	f := powerloss.New()
	f.SetCapacity(10)
	write(t, create(t, f, "d/a"), 0, "1234567")
	b := create(t, f, "d/b")
	n, err := b.WriteAt([]byte("12345"), 0)
	if n != 3 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote %d, %v", n, err)
	}
	write(t, b, 1, "xx") // in its place
	must(t, f.Remove("d/a"))
	write(t, b, 3, "1234567")
	if got := read(t, f, "d/b"); got != "1xx1234567" {
		t.Errorf("%v", got)
	}
}

func TestPowerFailsAtTheStepThatIsTold(t *testing.T) {
	f := powerloss.New()
	a := create(t, f, "d/a")
	f.StopAfter(2)
	write(t, a, 0, "1")
	if _, err := a.WriteAt([]byte("2"), 1); !errors.Is(err, powerloss.ErrCrashed) || !f.Crashed() {
		t.Errorf("got %v, want ErrCrashed", err)
	}
	_, createErr := f.Create("d/b")
	_, listErr := f.List("d")
	_, lockErr := f.Lock("d/lock")
	_, readErr := a.ReadAt(make([]byte, 1), 0)
	_, sizeErr := a.Size()
	for name, err := range map[string]error{
		"Create": createErr, "List": listErr, "Lock": lockErr, "ReadAt": readErr, "Size": sizeErr,
		"Sync": a.Sync(), "SyncDir": f.SyncDir("d"), "MkdirAll": f.MkdirAll("d"),
		"Rename": f.Rename("d/a", "d/b"), "Remove": f.Remove("d/a"), "Truncate": a.Truncate(0),
	} {
		if !errors.Is(err, powerloss.ErrCrashed) {
			t.Errorf("%s: got %v, want ErrCrashed", name, err)
		}
	}
}

func TestKillLosesNothing(t *testing.T) {
	f := powerloss.New()
	write(t, create(t, f, "d/a"), 0, "written")
	next := f.Clone()
	wantOutcomes(t, next, "d/a", "written")
	if got := read(t, f.Crash(newRand(0)), "d/a"); !f.Crashed() {
		t.Errorf("%q, crashed %v", got, f.Crashed())
	}
}
