package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
)

// systems are the file systems that must behave alike, each with a folder.
func systems(t *testing.T) map[string]func() (disk.FS, string) {
	return map[string]func() (disk.FS, string){
		"the machine's": func() (disk.FS, string) { return disk.OS{}, t.TempDir() },
		"the model":     func() (disk.FS, string) { return powerloss.New(), "folder" },
	}
}

func TestFilesAreWhatWasWritten(t *testing.T) {
	for name, system := range systems(t) {
		fsys, dir := system()
		f, err := fsys.Create(filepath.Join(dir, "a"))
		if err != nil {
			t.Fatal(name, err)
		}
		write := func(b string, off int64) {
			t.Helper()
			if n, err := f.WriteAt([]byte(b), off); n != len(b) || err != nil {
				t.Fatal(name, n, err)
			}
		}
		want := func(want string) {
			t.Helper()
			size, err := f.Size()
			b := make([]byte, size)
			_, readErr := f.ReadAt(b, 0)
			if err != nil || readErr != nil || string(b) != want {
				t.Fatalf("%s: %q, %v, %v, want %q", name, b, err, readErr, want)
			}
		}
		write("hello", 0)
		write("y", 4)
		want("helly")
		if err := errors.Join(f.Truncate(2), f.Sync()); err != nil {
			t.Fatal(name, err)
		}
		write("!", 4)
		want("he\x00\x00!")
		if n, err := f.ReadAt(make([]byte, 9), 3); n != 2 || err == nil {
			t.Errorf("%s: read %d bytes, %v", name, n, err)
		}
		again, err := fsys.Create(filepath.Join(dir, "a"))
		if err != nil {
			t.Fatal(name, err)
		}
		if size, err := f.Size(); size != 0 || err != nil {
			t.Errorf("%s: Create leaves %d bytes, %v", name, size, err)
		}
		if err := errors.Join(f.Close(), again.Close()); err != nil {
			t.Error(name, err)
		}
		if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: second Close: %v", name, err)
		}
	}
}

func TestNamesComeAndGo(t *testing.T) {
	for name, system := range systems(t) {
		fsys, dir := system()
		if err := fsys.MkdirAll(dir); err != nil {
			t.Fatal(name, err)
		}
		for _, n := range []string{"b", "a", "c"} {
			f, err := fsys.Create(filepath.Join(dir, n))
			if err != nil {
				t.Fatal(name, err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(name, err)
			}
		}
		err := errors.Join(
			fsys.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "c")),
			fsys.SyncDir(dir))
		got, listErr := fsys.List(dir)
		if err != nil || listErr != nil || !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("%s: %v, %v, %v", name, got, err, listErr)
		}
		if err := fsys.Remove(filepath.Join(dir, "b")); err != nil {
			t.Error(name, err)
		}
		for what, err := range map[string]error{
			"Remove": fsys.Remove(filepath.Join(dir, "b")),
			"Rename": fsys.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "d")),
			"Open":   second(fsys.Open(filepath.Join(dir, "b"))),
		} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s of what is not there: %v", name, what, err)
			}
		}
	}
}

func second(_ disk.File, err error) error { return err }

func TestLockIsHeldByOne(t *testing.T) {
	for name, system := range systems(t) {
		fsys, dir := system()
		file := filepath.Join(dir, "lock")
		held, err := fsys.Lock(file)
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = fsys.Lock(file)
		if !errors.Is(err, disk.ErrLocked) {
			t.Errorf("%s: got %v, want ErrLocked", name, err)
		}
		if _, real := fsys.(disk.OS); real && !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
			t.Errorf("%s: %v does not say who holds it", name, err)
		}
		if err := held.Close(); err != nil {
			t.Error(name, err)
		}
		held, err = fsys.Lock(file)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := held.Close(); err != nil {
			t.Error(name, err)
		}
	}
}

func TestFoldersAreMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	for range 2 {
		if err := (disk.OS{}).MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	t.Chdir(t.TempDir())
	if err := (disk.OS{}).MkdirAll("here"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (disk.OS{}).MkdirAll("file/below"); err == nil {
		t.Error("a folder in a file")
	}
}
