// Package suites runs what others have written for dbus-daemon against busd:
// the tests that Debian ships, and the clients and services that people use.
// Each run is made against dbus-daemon too, and where it can be against
// dbus-broker, and must end the same.
//
//	tap_test.go         what a test program prints
//	dbustests_test.go   Debian's dbus-tests, as root and as a plain user
//	transcript_test.go  one script on every bus, and what may differ
//	clients_test.go     busctl, gdbus, qdbus, dbus-send, dbus-monitor, dbus-test-tool
//	libraries_test.go   python3-dbus, godbus, xdg-dbus-proxy
//	session_test.go     a session under dbus-run-session
//	system_test.go      a system bus with avahi-daemon and polkitd
//
// What is not installed skips its tests, and fails them where CI is set.
package suites

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"quartet/services/busd/internal/buses"
)

func TestMain(m *testing.M) { os.Exit(buses.Main(m)) }

// need is the path of a program, which a Debian package has. A name with a
// slash is looked for nowhere else.
func need(t *testing.T, program, debian string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		without(t, program, debian)
	}
	return path
}

// without skips the test for lack of a thing, or fails it where CI is set.
func without(t *testing.T, thing, debian string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: apt-get install %s", thing, debian)
	}
	t.Skipf("%s is missing: apt-get install %s", thing, debian)
}

// long skips the test with -short: it takes long, and one run of it is enough.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long")
	}
}

// root skips the test for whoever is not root.
func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("only root can do this")
		}
		t.Skip("only root can do this")
	}
}

// program is the path of a bus's program.
func program(t *testing.T, kind buses.Kind) string {
	t.Helper()
	path, err := buses.Program(kind)
	buses.Need(t, err)
	return path
}

// environment is the one that programs here run in: nothing of ours but the
// path, and no way to any bus but the one that is meant.
func environment(more ...string) []string {
	path := os.Getenv("PATH") + ":/usr/sbin:/usr/bin:/sbin:/bin"
	return append([]string{
		"PATH=" + path, "LC_ALL=C.UTF-8", "QT_QPA_PLATFORM=offscreen", "NO_AT_BRIDGE=1", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent", "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent",
	}, more...)
}

// openDir is a folder that every user may look into, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "suite-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// code is the exit code that a command has ended with, and -1 when it did not
// end by itself.
func code(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	return ended.ExitCode()
}

// indent makes the lines of a program's output visible as such.
func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
