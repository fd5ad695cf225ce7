package catalog_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"quartet/services/busd/internal/catalog"
)

// guard runs a watcher for a test; what changed comes out of changes.
type guard struct {
	*catalog.Watcher
	changes chan []string
}

func watch(t *testing.T, paths ...string) guard {
	t.Helper()
	changes := make(chan []string, 1000)
	w, err := catalog.NewWatcher(catalog.WatchOptions{
		Quiet:   20 * time.Millisecond,
		Changed: func(_ context.Context, paths []string) { changes <- paths },
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Set(paths); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
	return guard{w, changes}
}

// expect waits until a path is told of.
func (g guard) expect(t *testing.T, path string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case paths := <-g.changes:
			if slices.Contains(paths, path) {
				return
			}
		case <-limit:
			t.Fatalf("nothing was told of %s", path)
		}
	}
}

func (g guard) drain() {
	for len(g.changes) > 0 {
		<-g.changes
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWatcherTellsOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string)
		path    string // below dir
		change  func(t *testing.T, dir string)
	}{
		{name: "FileInADirectoryWritten", path: "", change: func(t *testing.T, dir string) { write(t, dir+"/a.service", "") }},
		{
			name: "FileInADirectoryRemoved", path: "",
			prepare: func(t *testing.T, dir string) { write(t, dir+"/a", "") },
			change:  func(t *testing.T, dir string) { do(t, os.Remove(dir+"/a")) },
		},
		{
			name: "FileInADirectoryReplaced", path: "",
			prepare: func(t *testing.T, dir string) { write(t, dir+"/a", "") },
			change:  func(t *testing.T, dir string) { do(t, os.Rename(dir+"/a", dir+"/b")) },
		},
		{name: "SymbolicLink", path: "", change: func(t *testing.T, dir string) { do(t, os.Symlink("/", dir+"/a")) }},
		{
			name: "FileWritten", path: "x.conf",
			prepare: func(t *testing.T, dir string) { write(t, dir+"/x.conf", "") },
			change:  func(t *testing.T, dir string) { write(t, dir+"/x.conf", "new") },
		},
		{name: "FileAppears", path: "x.conf", change: func(t *testing.T, dir string) { write(t, dir+"/x.conf", "") }},
		{
			name: "FileReplaced", path: "x.conf",
			prepare: func(t *testing.T, dir string) { write(t, dir+"/x.conf", ""); write(t, dir+"/x.conf.new", "") },
			change:  func(t *testing.T, dir string) { do(t, os.Rename(dir+"/x.conf.new", dir+"/x.conf")) },
		},
		{name: "DirectoryAppears", path: "a/b/c", change: func(t *testing.T, dir string) { do(t, os.MkdirAll(dir+"/a/b/c", 0o700)) }},
		{
			name: "DirectoryRemoved", path: "a",
			prepare: func(t *testing.T, dir string) { do(t, os.Mkdir(dir+"/a", 0o700)) },
			change:  func(t *testing.T, dir string) { do(t, os.Remove(dir+"/a")) },
		},
		{
			name: "LinkTurned", path: "now",
			prepare: func(t *testing.T, dir string) {
				do(t, os.Mkdir(dir+"/1", 0o700))
				do(t, os.Mkdir(dir+"/2", 0o700))
				do(t, os.Symlink("1", dir+"/now"))
				do(t, os.Symlink("2", dir+"/next"))
			},
			change: func(t *testing.T, dir string) { do(t, os.Rename(dir+"/next", dir+"/now")) },
		},
		{
			name: "DirectoryAboveReplaced", path: "a/b/c",
			prepare: func(t *testing.T, dir string) {
				do(t, os.MkdirAll(dir+"/a/b/c", 0o700))
				do(t, os.MkdirAll(dir+"/new/b/c", 0o700))
			},
			change: func(t *testing.T, dir string) {
				do(t, os.Rename(dir+"/a", dir+"/old"))
				do(t, os.Rename(dir+"/new", dir+"/a"))
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			path := filepath.Join(dir, c.path)
			g := watch(t, path)
			c.change(t, dir)
			g.expect(t, path)
		})
	}
}

func TestWatchedDirectoryStaysWatchedThroughReplacement(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b")
	g := watch(t, dir)
	for range 5 {
		do(t, os.MkdirAll(dir, 0o700))
		g.expect(t, dir)
		write(t, dir+"/x", "")
		g.expect(t, dir)
		do(t, os.RemoveAll(root+"/a"))
		g.expect(t, dir)
		g.drain()
	}
}

func TestOtherFilesAreNotToldOf(t *testing.T) {
	dir := t.TempDir()
	g := watch(t, dir+"/x.conf")
	write(t, dir+"/y.conf", "")
	write(t, dir+"/x.conf", "")
	g.expect(t, dir+"/x.conf")
	do(t, g.Set([]string{dir + "/y.conf"}))
	g.drain()
	write(t, dir+"/x.conf", "")
	write(t, dir+"/y.conf", "")
	for {
		paths := <-g.changes
		if slices.Equal(paths, []string{dir + "/y.conf"}) {
			return
		}
		if !slices.Equal(paths, []string{dir + "/x.conf"}) { // from before Set
			t.Fatalf("told of %q", paths)
		}
	}
}

func TestManyChangesAreToldTogether(t *testing.T) {
	dir := t.TempDir()
	g := watch(t, dir)
	for i := range 500 {
		write(t, fmt.Sprintf("%s/%d", dir, i), "")
	}
	g.expect(t, dir)
	write(t, dir+"/last", "")
	g.expect(t, dir)
	if calls := 2 + len(g.changes); calls > 100 {
		t.Errorf("501 changes were told of %d times", calls)
	}
}

// freedesktop dbus!302: more than 128 watched directories crashed the bus.
func TestManyWatchedDirectories(t *testing.T) {
	root := t.TempDir()
	var dirs []string
	for i := range 300 {
		dirs = append(dirs, fmt.Sprintf("%s/%03d/dir", root, i))
		do(t, os.MkdirAll(dirs[i], 0o700))
	}
	g := watch(t, dirs...)
	for _, i := range []int{0, 127, 128, 129, 299} {
		write(t, dirs[i]+"/x", "")
		g.expect(t, dirs[i])
	}
}

// From the moment at which a file is there until Changed was told of it, the
// watcher says that something is pending.
func TestAChangeIsPendingUntilItIsToldOf(t *testing.T) {
	dir := t.TempDir()
	g := watch(t, dir)
	if g.Pending() {
		t.Fatal("pending before anything has changed")
	}
	do(t, os.WriteFile(filepath.Join(dir, "a.service"), nil, 0o644))
	if !g.Pending() {
		t.Error("not pending right behind the change")
	}
	g.expect(t, dir)
	for limit := time.Now().Add(20 * time.Second); g.Pending(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("still pending long after it was told of")
		}
	}
}
