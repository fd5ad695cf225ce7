package suites

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"quartet/services/busd/internal/buses"
)

// step is one command of a script. It runs in a shell, with A as the address
// of the bus, and ends in time or fails.
type step struct {
	run string

	// broker says why dbus-broker does not answer like the other two; "" is
	// that it must.
	broker string

	// keep is a pattern for the lines that are compared, where others are
	// not the bus's business. "" is all of them.
	keep string

	// words says that busd has other words for an error: what stands behind
	// the last colon of a line is not compared.
	words bool

	// sorted is for lines that come in no order.
	sorted bool
}

// patience is how long one step may take.
const patience = 30 * time.Second

// stage is what a script is played on.
type stage struct {
	services []service // what runs beside it
	// options are how a bus is started; nil is as a session bus.
	options func(t *testing.T) buses.Options
	kinds   []buses.Kind // nil is all
	serial  bool         // the services cannot run twice at once
}

// service is a command that takes a name: it is up when the name is there.
type service struct{ name, command string }

// play runs a script on every bus and compares what the commands print, and
// their exit codes, with those on dbus-daemon.
func (s stage) play(t *testing.T, script []step) {
	t.Helper()
	long(t)
	t.Parallel()
	kinds := s.kinds
	if kinds == nil {
		kinds = buses.Kinds
	}
	transcripts := make([][]string, len(kinds))
	t.Run("on", func(t *testing.T) { // ends when all three have
		for i, kind := range kinds {
			t.Run(string(kind), func(t *testing.T) {
				if !s.serial {
					t.Parallel()
				}
				var o buses.Options
				if s.options != nil {
					o = s.options(t)
				}
				b := buses.ForTest(t, kind, o)
				for _, each := range s.services {
					each.start(t, b)
				}
				for _, each := range script {
					transcripts[i] = append(transcripts[i], each.on(t, b))
				}
			})
		}
	})
	reference := transcripts[slices.Index(kinds, buses.Daemon)]
	if len(reference) < len(script) {
		return // not installed, or it has failed
	}
	for i, kind := range kinds {
		for j, got := range transcripts[i] {
			each, want := script[j], reference[j]
			if got != want && (kind != buses.Broker || each.broker == "") {
				t.Errorf("%s on %s:\n%s\non %s:\n%s", each.run, kind, indent(got), buses.Daemon, indent(want))
			}
		}
	}
}

// start starts the service, and waits for its name.
func (s service) start(t *testing.T, b *buses.Bus) {
	t.Helper()
	cmd := shell(context.Background(), t.TempDir(), b.Address, "exec "+s.command)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			defer func() { t.Logf("%s:\n%s", s.command, indent(out.String())) }()
		}
		// It may have ended, and need not end well.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		time.AfterFunc(time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
	})
	wait := shell(t.Context(), t.TempDir(), b.Address, "gdbus wait --address $A --timeout 10 "+s.name)
	if out, err := wait.CombinedOutput(); err != nil {
		t.Fatalf("%s did not take the name %s: %v\n%s", s.command, s.name, err, out)
	}
}

// shell is a command in a shell, in a process group of its own.
func shell(ctx context.Context, dir, address, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = environment("A="+address, "DBUS_SESSION_BUS_ADDRESS="+address, "DBUS_SYSTEM_BUS_ADDRESS="+address, "HOME="+dir, "SUITES="+data())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// data is the folder of the scripts in other languages.
func data() string {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		return "testdata" // there is no working directory
	}
	return dir
}

// on runs the step on a bus and returns what it printed, made comparable.
func (s step) on(t *testing.T, b *buses.Bus) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := shell(ctx, t.TempDir(), b.Address, s.run)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	t.Logf("%v: %s\n%s", time.Since(began).Round(time.Millisecond), s.run, indent(out.String()))
	if ctx.Err() != nil {
		t.Fatalf("%s did not end\n%s", s.run, indent(out.String()))
	}
	lines := strings.Split(strings.TrimSpace(normal(out.String(), b)), "\n")
	if s.keep != "" {
		keep := regexp.MustCompile(s.keep)
		lines = slices.DeleteFunc(lines, func(line string) bool { return !keep.MatchString(line) })
	}
	if s.words {
		for i, line := range lines {
			if end := strings.LastIndex(line, ": "); end >= 0 {
				lines[i] = line[:end]
			}
		}
	}
	if s.sorted {
		slices.Sort(lines)
	}
	return fmt.Sprintf("%s\nexit code %d", strings.Join(lines, "\n"), code(t, err))
}

// What is another in each run.
var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`\b(time|Timestamp|REALTIME|MONOTONIC)\b[=:" ]*[^ "]+(\s\d\d\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ UTC)?`), "TIME"},
	{regexp.MustCompile(`\b(serial|reply_serial|Cookie|ReplyCookie|in reply to)([=:]| number:?) *\d+`), "$1=N"},
	// dbus-daemon shows the whole command line here, with its arguments.
	{regexp.MustCompile(`\bcomm="[^"]*"`), "comm=COMM"},
	{regexp.MustCompile(`(?i)\b(pid[ =:]+|ProcessID[^\d]+(uint32 )?)\d+`), "${1}PID"},
}

var uniqueName = regexp.MustCompile(`:1\.\d+`)

// normal replaces what is another in each run. Unique names are told apart by
// the order in which they come. b may be nil.
func normal(text string, b *buses.Bus) string {
	if b != nil {
		text = strings.ReplaceAll(text, b.Address, "ADDRESS")
	}
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	seen := map[string]string{}
	return uniqueName.ReplaceAllStringFunc(text, func(name string) string {
		if seen[name] == "" {
			seen[name] = fmt.Sprintf("UNIQUE%d", len(seen))
		}
		return seen[name]
	})
}
