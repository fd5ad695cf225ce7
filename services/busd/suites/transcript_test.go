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

	// sorted is for lines that come in no order.
	sorted bool
}

// patience is how long one step may take.
const patience = 20 * time.Second

// play runs a script on every bus and compares what the commands print, and
// their exit codes, with those on dbus-daemon. before is what runs beside all
// of it, and must be up when its name is there.
func play(t *testing.T, before map[string]string, script []step) {
	t.Helper()
	transcripts := map[buses.Kind][]string{}
	for _, kind := range buses.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			b := buses.ForTest(t, kind, buses.Options{})
			for name, command := range before {
				beside(t, b, name, command)
			}
			for _, s := range script {
				transcripts[kind] = append(transcripts[kind], s.on(t, b))
			}
		})
	}
	if t.Failed() || t.Skipped() {
		return
	}
	for kind, got := range transcripts {
		for i, s := range script {
			want := transcripts[buses.Daemon][i]
			if got[i] == want || kind == buses.Broker && s.broker != "" {
				continue
			}
			t.Errorf("%s on %s:\n%s\non %s:\n%s", s.run, kind, indent(got[i]), buses.Daemon, indent(want))
		}
	}
	for _, s := range script {
		t.Logf("%s", s.run)
	}
}

// beside starts a command that takes a name, and waits for the name.
func beside(t *testing.T, b *buses.Bus, name, command string) {
	t.Helper()
	cmd := shell(context.Background(), t.TempDir(), b.Address, command)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = cmd.Wait()                                      // it was killed
	})
	wait := shell(t.Context(), t.TempDir(), b.Address, "gdbus wait --address $A --timeout 10 "+name)
	if out, err := wait.CombinedOutput(); err != nil {
		t.Fatalf("%s did not take the name %s: %v\n%s", command, name, err, out)
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
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s did not end\n%s", s.run, indent(out.String()))
	}
	lines := strings.Split(strings.TrimSpace(normal(out.String(), b)), "\n")
	if s.keep != "" {
		keep := regexp.MustCompile(s.keep)
		lines = slices.DeleteFunc(lines, func(line string) bool { return !keep.MatchString(line) })
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
	{regexp.MustCompile(`(?i)\b(pid[ =:]+|ProcessID[^\d]+(uint32 )?)\d+`), "${1}PID"},
}

var uniqueName = regexp.MustCompile(`:1\.\d+`)

// normal replaces what is another in each run. Unique names are told apart by
// the order in which they come.
func normal(text string, b *buses.Bus) string {
	text = strings.ReplaceAll(text, b.Address, "ADDRESS")
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
