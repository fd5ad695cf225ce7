package custom_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quartet/services/botd/internal/command"
)

// liveness bounds what must end by itself, on a machine that is busy.
const liveness = 20 * time.Second

// shell makes a command of a line of shell; more are further lines of the file.
func shell(t *testing.T, line, more string) *command.Command {
	t.Helper()
	return one(t, options(), fmt.Sprintf("%s\n[command.exec]\nrun = [\"/bin/sh\", \"-c\", %q]\n", more, line))
}

// soon fails the test when f does not return in time.
func soon(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(liveness):
		t.Fatal("it does not end")
	}
}

// pidIn reads a number that a program has written.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	var pid int
	data, err := os.ReadFile(file)
	if err == nil {
		_, err = fmt.Sscan(string(data), &pid)
	}
	if err != nil {
		t.Fatalf("the program's child: %v", err)
	}
	return pid
}

// dies waits until a process is no more; a zombie that nobody waits for is none.
func dies(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(liveness); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) || bytes.Contains(stat, []byte(") X ")) {
			return
		}
	}
	t.Errorf("process %d lives on", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestProgramIsToldAndAnswers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "told")
	reply, err := ask(t, shell(t, "cat > "+file+"; echo; echo ' raz & $dwa '", ""), "a 'b' $(c)")
	if err != nil || reply.Text != "raz & $dwa" {
		t.Errorf("%+v, %v", reply, err)
	}
	var told struct {
		Command, Text, Sender, Lang string
		Timestamp                   int64
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &told)
	}
	if err != nil || told.Command != "x" || told.Text != "a 'b' $(c)" || told.Sender != "u-ala" || told.Lang != "pl" || told.Timestamp != 1_700_000_000_123 {
		t.Errorf("told %s, %v", data, err)
	}
}

func TestProgramAnswersWithAPicture(t *testing.T) {
	reply, err := ask(t, shell(t, `printf '{"text":"raz","picture":"`+base64.StdEncoding.EncodeToString(png)+`"}'`, ""), "")
	if err != nil || reply.Text != "raz" || reply.Picture == nil || !bytes.Equal(reply.Picture.Data, png) {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestProgramHasNothingOfOurs(t *testing.T) {
	t.Setenv("BOTD_SECRET", "ours")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("k\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := one(t, options(), fmt.Sprintf("[command.exec]\nrun = [\"/usr/bin/env\"]\nenv = { B = { file = %q }, A = \"a\" }\n", key))
	want := "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nLANG=C.UTF-8\nA=a\nB=k"
	if reply, err := ask(t, c, ""); err != nil || reply.Text != want {
		t.Errorf("%q, %v", reply.Text, err)
	}
	if reply, err := ask(t, shell(t, "pwd; ls /proc/self/fd | tr '\\n' ' '", ""), ""); err != nil || reply.Text != "/\n0 1 2 3" { // 3 is ls's own
		t.Errorf("%q, %v", reply.Text, err)
	}
}

func TestProgramThatFails(t *testing.T) {
	for line, says := range map[string]string{
		"echo boom >&2; exit 3": `exit status 3: it says "boom"`,
		"exit 1":                "exit status 1",
		"kill -9 $$":            "signal: killed",
		"echo raz; exit 1":      "exit status 1",
		"printf 'a\\377b'":      "no text",
		"printf '{'":            "no JSON",
		"cat >&2; exit 1":       `"command":"x"`,
		"echo 'TAJEMNE, Słowo; słowik' >&2; exit 1":                             `"…, …; słowik"`,
		`printf '\\u0142 s\\u0142owo' >&2; exit 1`:                              `"\\u0142 …\\…"`,
		"head -c 505 /dev/zero | tr '\\0' ' ' >&2; echo ' tajemne' >&2; exit 1": `exit status 1: it says ""`,
	} {
		reply, err := ask(t, shell(t, line, ""), private)
		if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(says, `"command":"x"`, `\"command\":\"x\"`)) || reply.Text != "" {
			t.Errorf("%s: %+v, %v; want %q", line, reply, err, says)
		}
	}
}

// It and its children do not listen to SIGTERM, and one of them hangs in the
// background with the output open.
func TestTimeoutKillsAllThatWasStarted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	c := shell(t, `trap '' TERM INT HUP; sh -c 'trap "" TERM INT HUP; echo $$ > `+file+`; while :; do sleep 600; done' & echo raz; wait; wait`, `timeout = "1s"`)
	soon(t, func() {
		reply, err := ask(t, c, private)
		if !errors.Is(err, context.DeadlineExceeded) || reply.Text != "" {
			t.Errorf("%+v, %v", reply, err)
		}
	})
	dies(t, pidIn(t, file))
}

func TestCancelledRequestKillsTheProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	c := shell(t, "echo $$ > "+file+"; exec sleep 600", "")
	ctx, cancel := context.WithCancel(t.Context())
	soon(t, func() {
		go func() {
			for {
				if data, err := os.ReadFile(file); err == nil && bytes.HasSuffix(data, []byte("\n")) {
					cancel()
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		if _, err := c.Run(ctx, command.Request{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	dies(t, pidIn(t, file))
}

// A child in the background keeps the output open: the answer does not wait for
// it, and it does not stay.
func TestLeftoverChildIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	c := shell(t, "sleep 600 & echo $! > "+file+"; echo raz", "")
	soon(t, func() {
		if reply, err := ask(t, c, ""); err != nil || reply.Text != "raz" {
			t.Errorf("%+v, %v", reply, err)
		}
	})
	dies(t, pidIn(t, file))
}

// One that leaves the process group is out of reach, but not waited for.
func TestRunawayIsNotWaitedFor(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		missing(t, "setsid")
	}
	file := filepath.Join(t.TempDir(), "pid")
	c := shell(t, "setsid sh -c 'echo $$ > "+file+"; exec sleep 600' & while ! [ -s "+file+" ]; do :; done; echo raz", "")
	soon(t, func() {
		if reply, err := ask(t, c, ""); err != nil || reply.Text != "raz" {
			t.Errorf("%+v, %v", reply, err)
		}
	})
	pid := pidIn(t, file)
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("it was in reach after all: %v", err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestOutputIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	soon(t, func() {
		reply, err := ask(t, shell(t, "echo $$ > "+file+"; exec yes", ""), private)
		if err == nil || !strings.Contains(err.Error(), "8388608 bytes of output") || reply.Text != "" {
			t.Errorf("%.20q, %v", reply.Text, err)
		}
	})
	dies(t, pidIn(t, file))
	soon(t, func() {
		if _, err := ask(t, shell(t, "head -c 8388609 /dev/zero", ""), private); err == nil || !strings.Contains(err.Error(), "bytes of output") {
			t.Errorf("it ended before it was stopped: %v", err)
		}
	})
	soon(t, func() { // text that is no answer to people
		if _, err := ask(t, shell(t, "head -c 65537 /dev/zero | tr '\\0' x", ""), private); err == nil || !strings.Contains(err.Error(), "too long") {
			t.Error(err)
		}
	})
}

// Whatever of the three streams a program neglects, it is not stuck.
func TestNeglectedStreamsBlockNobody(t *testing.T) {
	large := strings.Repeat("tajemne ", 100_000)
	for _, line := range []string{
		"echo raz",
		"head -c 10000000 /dev/zero >&2; echo raz",
		"exec <&- 2>&-; echo raz",
		"cat > /dev/null; echo raz",
		"head -c 1000000 /dev/zero >&2; cat >/dev/null; echo raz",
	} {
		soon(t, func() {
			if reply, err := ask(t, shell(t, line, ""), large); err != nil || reply.Text != "raz" {
				t.Errorf("%s: %+v, %v", line, reply, err)
			}
		})
	}
	soon(t, func() {
		if reply, err := ask(t, shell(t, "exec >&-; sleep 0.05", ""), large); err != nil || reply.Text != "" {
			t.Errorf("without output: %+v, %v", reply, err)
		}
	})
}

// Many at once, each gets its own answer, and nothing stays open.
func TestProgramsSideBySide(t *testing.T) {
	c := shell(t, "cat", "")
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			missing(t, "/proc")
		}
		return len(files)
	}
	_, _ = ask(t, c, "raz") // opens what stays open
	before := open()
	var all sync.WaitGroup
	for n := range 24 {
		all.Go(func() {
			reply, err := c.Run(t.Context(), command.Request{Text: fmt.Sprint("raz ", n)})
			if want := fmt.Sprint("raz ", n); err != nil || reply.Text != want {
				t.Errorf("%+v, %v; want %q", reply, err, want)
			}
		})
	}
	all.Wait()
	if after := open(); after > before {
		t.Errorf("%d files are open, before it were %d", after, before)
	}
}

func TestProgramThatIsGoneIsAFailure(t *testing.T) {
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, []byte("not a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := one(t, options(), fmt.Sprintf("[command.exec]\nrun = [%q]\n", name))
	if _, err := ask(t, c, private); err == nil {
		t.Error("what is no program ran")
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, c, private); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// missing skips a test on a user's machine for what that lacks; CI has all.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("needs %s", what)
	}
	t.Skipf("needs %s", what)
}
