package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"quartet/services/busd/internal/policy"
)

// What logind writes of a user who comes and goes, and dbus-daemon makes of it.
func TestWhoHasASeatIsAtTheConsole(t *testing.T) {
	dir := t.TempDir()
	c := console{seats: filepath.Join(dir, "seats"), users: dir, files: filepath.Join(dir, "console")}
	atConsole := c.who()
	for _, step := range []struct {
		name, file string
		want       bool
	}{
		{"no session", "", false},
		{"a session at a seat", "NAME=a\nSEATS=seat0\nACTIVE_SEATS=\nONLINE_SEATS=seat0\n", true},
		{"at two", "ONLINE_SEATS=\"seat0 seat1\"\n", true},
		{"a session from elsewhere", "NAME=a\nSEATS=\nACTIVE_SEATS=\nONLINE_SEATS=\n", false},
		{"in the background", "SEATS=seat0\nACTIVE_SEATS=\nONLINE_SEATS=\n", false},
	} {
		if step.file != "" {
			if err := os.WriteFile(filepath.Join(dir, "1000"), []byte(step.file), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if atConsole(1000) {
			t.Errorf("%s, and no logind: at the console", step.name)
		}
		if err := os.Mkdir(c.seats, 0o755); err != nil {
			t.Fatal(err)
		}
		if got := atConsole(1000); got != step.want {
			t.Errorf("%s: at the console: %v", step.name, got)
		}
		if atConsole(1001) {
			t.Errorf("%s: another user is at the console", step.name)
		}
		if err := os.Remove(c.seats); err != nil {
			t.Fatal(err)
		}
	}
}

// Where there is no logind a file says who is there, and one that comes has the
// configuration read again.
func TestFilesOfTheConsoleAreWatched(t *testing.T) {
	dir, asks := t.TempDir(), []policy.Section{{Context: policy.AtConsole}}
	old := theConsole
	t.Cleanup(func() { theConsole = old })
	theConsole = console{seats: filepath.Join(dir, "seats"), users: dir, files: filepath.Join(dir, "console")}
	if err := os.Mkdir(theConsole.files, 0o755); err != nil {
		t.Fatal(err)
	}
	if atConsole(asks)(0) {
		t.Error("somebody is there")
	}
	if err := os.WriteFile(filepath.Join(theConsole.files, "root"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if !atConsole(asks)(0) {
		t.Error("nobody is there")
	}
	file := filepath.Join(dir, "bus.conf")
	for section, want := range map[string]bool{`<policy at_console="true"/>`: true, "": false} {
		if err := os.WriteFile(file, []byte("<busconfig><listen>unix:tmpdir=/tmp</listen>"+section+"</busconfig>"), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		d := &daemon{programs: &programs{}}
		d.use(l)
		if got := d.current.Load().files[theConsole.files]; got != want {
			t.Errorf("with %q the folder is watched: %v", section, got)
		}
	}
}
