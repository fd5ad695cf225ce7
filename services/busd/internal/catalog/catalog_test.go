package catalog_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"quartet/services/busd/internal/catalog"
)

// desk is a catalog over directories of a test, and what it logs.
type desk struct {
	*catalog.Catalog
	log *bytes.Buffer
}

func open(t *testing.T, dirs ...catalog.Dir) desk {
	t.Helper()
	log := new(bytes.Buffer)
	return desk{catalog.New(catalog.Options{
		Dirs: dirs,
		Log:  slog.New(slog.NewTextHandler(log, nil)),
	}), log}
}

// refresh looks again, and gives "name=exec" of every service.
func (d desk) refresh(t *testing.T) []string {
	t.Helper()
	s, err := d.Refresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list(s)
}

func list(s *catalog.Snapshot) []string {
	var all []string
	for _, name := range s.Names() {
		e, found := s.Lookup(name)
		if !found || e.Name != name {
			panic("a name leads to another entry")
		}
		all = append(all, name+"="+e.Exec)
	}
	return all
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func text(name, exec string) string { return "[D-BUS Service]\nName=" + name + "\nExec=" + exec + "\n" }

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

func TestEarlierDirectoryWins(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write(t, first+"/x.service", text("a.a", "/first"))
	write(t, second+"/a.a.service", text("a.a", "/second"))
	write(t, second+"/a.b.service", text("a.b", "/second"))
	d := open(t, catalog.Dir{Path: first}, catalog.Dir{Path: second})
	want(t, list(d.Snapshot()), "a.a=/first", "a.b=/second")
	if e, _ := d.Snapshot().Lookup("a.a"); e.File != first+"/x.service" {
		t.Errorf("the file of a.a is %s", e.File)
	}
	if _, found := d.Snapshot().Lookup("a.c"); found {
		t.Error("a.c was found")
	}
	if err := os.Remove(first + "/x.service"); err != nil {
		t.Fatal(err)
	}
	want(t, d.refresh(t), "a.a=/second", "a.b=/second")
}

func TestWellNamedFileWinsInADirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.0.service", text("a.a", "/other"))
	write(t, dir+"/a.a.service", text("a.a", "/right"))
	write(t, dir+"/b.2.service", text("b.b", "/2"))
	write(t, dir+"/b.1.service", text("b.b", "/1"))
	want(t, list(open(t, catalog.Dir{Path: dir}).Snapshot()), "a.a=/right", "b.b=/1")
}

func TestOnlyServiceFilesCount(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.a", "a.service~", ".a.service", "a.service.dpkg-new", "a.conf"} {
		write(t, filepath.Join(dir, name), text("a.a", "/x"))
	}
	want(t, list(open(t, catalog.Dir{Path: dir}).Snapshot()))
}

func TestNaming(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.a.service", text("a.a", "/a"))
	write(t, dir+"/other.service", text("a.b", "/b"))
	for _, c := range []struct {
		name   string
		naming catalog.Naming
		want   []string
		logs   string
	}{
		{name: "Any", naming: catalog.AnyName, want: []string{"a.a=/a", "a.b=/b"}},
		{name: "Warn", naming: catalog.WarnName, want: []string{"a.a=/a", "a.b=/b"}, logs: "helper does not find it"},
		{name: "Strict", naming: catalog.StrictName, want: []string{"a.a=/a"}, logs: "it is not used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, catalog.Dir{Path: dir, Naming: c.naming})
			want(t, list(d.Snapshot()), c.want...)
			want(t, d.refresh(t), c.want...)
			lines := strings.Count(d.log.String(), "\n")
			if c.logs == "" && lines != 0 || c.logs != "" && (lines != 1 || !strings.Contains(d.log.String(), c.logs) || !strings.Contains(d.log.String(), "a.b.service")) {
				t.Errorf("the log is %q", d.log)
			}
		})
	}
}

// bus1/dbus-broker#202, #57, #69, #206: what is installed while the bus runs
// has to be there for the next request.
func TestFileAddedLaterIsFound(t *testing.T) {
	dir := t.TempDir()
	d := open(t, catalog.Dir{Path: dir})
	before := d.Snapshot()
	for i := range 50 {
		write(t, fmt.Sprintf("%s/a.n%02d.service", dir, i), text(fmt.Sprintf("a.n%02d", i), "/x"))
		if got := d.refresh(t); len(got) != i+1 {
			t.Fatalf("after %d files there are %q", i+1, got)
		}
	}
	want(t, list(before))
}

// Writes within one tick of the file system's clock, of the same length.
func TestFileChangedAtOnceIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	d := open(t, catalog.Dir{Path: dir})
	for i := range 100 {
		exec := fmt.Sprintf("/%02d", i)
		write(t, dir+"/a.a.service", text("a.a", exec))
		want(t, d.refresh(t), "a.a="+exec)
	}
}

func TestUnchangedDirectoriesKeepTheSnapshot(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.a.service", text("a.a", "/x"))
	d := open(t, catalog.Dir{Path: dir})
	before := d.Snapshot()
	write(t, dir+"/a.a.service", "# new\n"+text("a.a", "/x"))
	if d.refresh(t); d.Snapshot() != before {
		t.Error("there is a new snapshot of the same services")
	}
}

func TestBrokenFileKeepsWhatItSaidBefore(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/a.a.service"
	write(t, file, text("a.a", "/x"))
	write(t, dir+"/a.b.service", "[D-BUS")
	d := open(t, catalog.Dir{Path: dir})
	want(t, list(d.Snapshot()), "a.a=/x")
	write(t, file, "[D-BUS Service]\nNa")
	want(t, d.refresh(t), "a.a=/x")
	want(t, d.refresh(t), "a.a=/x")
	if n := strings.Count(d.log.String(), "file="+file); n != 1 {
		t.Errorf("the broken file was logged %d times: %s", n, d.log)
	}
	write(t, file, text("a.c", "/y"))
	want(t, d.refresh(t), "a.c=/y")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want(t, d.refresh(t))
}

func TestInvalidNameIsRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.service", text(":1.5", "/x"))
	d := open(t, catalog.Dir{Path: dir})
	want(t, list(d.Snapshot()))
	if !strings.Contains(d.log.String(), "not a well-known bus name") {
		t.Errorf("the log is %q", d.log)
	}
}

func TestFIFODoesNotStopTheScan(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(dir+"/a.service", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/b.service", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/does/not/exist", dir+"/c.service"); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/z.z.service", text("z.z", "/x"))
	want(t, list(open(t, catalog.Dir{Path: dir}).Snapshot()), "z.z=/x")
}

func TestMissingDirectoryAppears(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet")
	d := open(t, catalog.Dir{Path: dir})
	want(t, d.refresh(t))
	if d.log.Len() > 0 {
		t.Errorf("a missing directory was logged: %s", d.log)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/a.a.service", text("a.a", "/x"))
	want(t, d.refresh(t), "a.a=/x")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	want(t, d.refresh(t))
}

func TestUnreadableDirectoryKeepsItsServices(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/a.a.service", text("a.a", "/x"))
	d := open(t, catalog.Dir{Path: dir})
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dir", dir); err != nil { // a loop: works for root, too
		t.Fatal(err)
	}
	want(t, d.refresh(t), "a.a=/x")
	want(t, d.refresh(t), "a.a=/x")
	if n := strings.Count(d.log.String(), "\n"); n != 1 {
		t.Errorf("the directory was logged %d times", n)
	}
}

// freedesktop dbus!302: more than 128 directories crashed the bus.
func TestManyDirectories(t *testing.T) {
	root := t.TempDir()
	var dirs []catalog.Dir
	for i := range 300 {
		dir := fmt.Sprintf("%s/%03d", root, i)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("a.n%03d", i)
		write(t, dir+"/"+name+".service", text(name, dir))
		dirs = append(dirs, catalog.Dir{Path: dir, Naming: catalog.StrictName})
	}
	if got := open(t, dirs...).Snapshot().Names(); len(got) != 300 || !slices.IsSorted(got) {
		t.Errorf("there are %d names", len(got))
	}
}

func TestReloadChangesDirectories(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write(t, first+"/a.a.service", text("a.a", "/first"))
	write(t, second+"/a.a.service", text("a.a", "/second"))
	d := open(t, catalog.Dir{Path: first})
	write(t, second+"/a.b.service", "broken")
	s, err := d.Reload(t.Context(), []catalog.Dir{{Path: second}, {Path: first}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, list(s), "a.a=/second")
	s, err = d.Reload(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want(t, list(s))
}

func TestRefreshesShareScans(t *testing.T) {
	dir := t.TempDir()
	d := open(t, catalog.Dir{Path: dir})
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			name := fmt.Sprintf("a.n%02d", i)
			if err := os.WriteFile(dir+"/"+name+".service", []byte(text(name, "/x")), 0o600); err != nil {
				t.Error(err)
			}
			s, err := d.Refresh(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if _, found := s.Lookup(name); !found {
				t.Errorf("%s is not in a snapshot made after its file", name)
			}
		})
	}
	all.Wait()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := d.Refresh(ended); err == nil && len(s.Names()) != 32 {
		t.Errorf("there are %q", s.Names())
	}
}

func BenchmarkRefreshUnchanged(b *testing.B) {
	dir := b.TempDir()
	old := syscall.NsecToTimespec(0)
	for i := range 100 {
		file := fmt.Sprintf("%s/a.n%02d.service", dir, i)
		if err := os.WriteFile(file, []byte(text(fmt.Sprintf("a.n%02d", i), "/x")), 0o600); err != nil {
			b.Fatal(err)
		}
		_ = syscall.UtimesNano(file, []syscall.Timespec{old, old})
	}
	c := catalog.New(catalog.Options{Dirs: []catalog.Dir{{Path: dir}}, Log: slog.New(slog.DiscardHandler)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
