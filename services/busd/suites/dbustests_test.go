package suites

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quartet/services/busd/internal/buses"
)

// build is one of the two that Debian makes of the tests. The debug build
// expects a dbus-daemon that was made like itself: it asks for the interface
// Verbose, of which the usual one must say nothing.
type build struct {
	name, dir, reference string
	verbose              bool // busd is to have it too
}

var builds = []build{
	{name: "production", dir: "/usr/lib/dbus-1.0/installed-tests/dbus"},
	{name: "debug", dir: "/usr/lib/dbus-1.0/debug-build/libexec/installed-tests/dbus",
		reference: "/usr/lib/dbus-1.0/debug-build/bin/dbus-daemon", verbose: true},
}

// daemonPrograms are those of the tests that start a bus. test-fdpass is not
// among them, which has only a client and a server of libdbus.
var daemonPrograms = []string{
	"test-dbus-daemon", "test-dbus-daemon-eavesdrop", "test-monitor", "test-sd-activation", "test-uid-permissions",
	"test-containers", "test-header-fields", "test-dbus-daemon-fork.sh", "test-apparmor-activation.sh",
}

// plain is a user who exists everywhere and may do nothing.
const plain = "www-data"

// cases are the least that must be ok on dbus-daemon with all programs of a
// build: fewer means that the tests did not really run.
const cases = 60

// alone is how many cases that failed are run once more, each by itself.
const alone = 3

// deadline is for one program of tests, which takes 10 s where nothing else runs.
const deadline = 90 * time.Second

func TestDebiansTestsPassAsOnDBusDaemon(t *testing.T) {
	long(t)
	for _, b := range builds {
		for _, as := range []string{"root", plain} {
			t.Run(b.name+"/"+as, func(t *testing.T) {
				t.Parallel()
				reference, busd := b.reference, program(t, buses.Busd)
				if reference == "" {
					reference = program(t, buses.Daemon)
				}
				need(t, reference, "dbus-tests")
				if b.verbose {
					busd = verbose(t, busd)
				}
				who := account(t, as)
				good := 0
				for _, name := range daemonPrograms {
					t.Run(name, func(t *testing.T) {
						path := need(t, filepath.Join(b.dir, name), "dbus-tests")
						good += compare(t, path, b, who, reference, busd)
					})
				}
				if good < cases && !t.Failed() && !t.Skipped() {
					t.Errorf("only %d cases are ok on %s", good, reference)
				}
			})
		}
	}
}

// compare runs a program of tests against the reference, and then against
// busd. It returns how many cases are ok on the reference.
func compare(t *testing.T, path string, b build, who *syscall.Credential, reference, busd string) int {
	t.Helper()
	var theirs, ours result
	var both sync.WaitGroup // most of the time they wait for something not to happen
	home := home(t, who)
	both.Go(func() { theirs = runTests(t.Context(), home, path, b, who, reference) })
	ours = runTests(t.Context(), home, path, b, who, busd)
	both.Wait()
	good := 0
	for _, v := range theirs.cases {
		if v == passed {
			good++
		}
	}
	t.Logf("%d of %d cases are ok on %s (%v), and %v on busd", good, len(theirs.cases), filepath.Base(reference), theirs.took, ours.took)
	if theirs.err != nil {
		t.Fatalf("on %s: %v\n%s", reference, theirs.err, indent(theirs.stderr))
	}
	if names := worse(theirs.cases, ours.cases); len(names) > 0 {
		// A program ends with the first case that fails, or hangs there: the
		// first ones say more one by one.
		for i, name := range names {
			if ours.cases[name] == failed || i >= alone || strings.HasSuffix(path, ".sh") {
				t.Errorf("%s: %q", name, ours.cases[name])
				continue
			}
			again := runTests(t.Context(), home, path, b, who, busd, "-p", name)
			t.Errorf("%s: %q; alone: %q (%v)\n%s\n%s", name, ours.cases[name], again.cases[name], again.err, indent(again.stdout), indent(again.stderr))
		}
	}
	if ours.err != nil {
		t.Errorf("on busd: %v\n%s\n%s", ours.err, indent(ours.stdout), indent(ours.stderr))
	}
	return good
}

// verbose is a program that runs busd with DBUS_VERBOSE, which the tests must
// not have: they would say too much themselves.
func verbose(t *testing.T, busd string) string {
	path := filepath.Join(openDir(t), "busd")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nDBUS_VERBOSE=1 exec "+busd+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// result is a run of a test program.
type result struct {
	cases          map[string]verdict
	stdout, stderr string
	err            error
	took           time.Duration
}

// home is a folder of who's own.
func home(t *testing.T, who *syscall.Credential) string {
	dir := openDir(t)
	if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runTests runs a test program against a daemon.
func runTests(ctx context.Context, home, path string, b build, who *syscall.Credential, daemon string, args ...string) result {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"--tap"}, args...)...)
	cmd.Dir = home
	cmd.Env = environment(
		"HOME="+home, "TMPDIR="+home, "XDG_RUNTIME_DIR="+home, "DBUS_TEST_HOMEDIR="+home,
		"DBUS_TEST_DAEMON="+daemon, "DBUS_TEST_DATA="+b.dir+"/data", "DBUS_TEST_EXEC="+b.dir,
	)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// What it leaves behind when it aborts is in its group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	began := time.Now()
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually nobody is there
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end: %w", context.Cause(ctx))
	}
	return result{tap(stdout.String()), stdout.String(), stderr.String(), err, time.Since(began).Round(time.Millisecond)}
}

// account is what to run as. Only root can be somebody else: for others, plain
// is themselves.
func account(t *testing.T, name string) *syscall.Credential {
	t.Helper()
	uid, gid := os.Geteuid(), os.Getegid()
	if uid != 0 {
		if name == "root" {
			root(t)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: true}
	}
	u, err := user.Lookup(name)
	if err != nil {
		without(t, "the user "+name, "base-passwd")
	}
	uid, err = strconv.Atoi(u.Uid)
	if err == nil {
		gid, err = strconv.Atoi(u.Gid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
