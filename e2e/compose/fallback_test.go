package compose_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// play makes a program of shell in dir, which also notes in the file "calls" how it
// was called.
func play(t *testing.T, dir, name, body string) {
	t.Helper()
	text := "#!/bin/sh\necho \"" + filepath.Base(name) + " $*\" >>\"$CALLS\"\n" + body
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A stack that runs, with a real number perhaps, is not taken down for simulators
// because an image could not be pulled this time. Played here are the engine and
// all that stack.sh calls.
func TestWhatRunsIsNotExchangedForProcesses(t *testing.T) {
	script, err := os.ReadFile("../../deploy/compose/stack.sh")
	if err != nil {
		t.Fatal(err)
	}
	for running, want := range map[string]struct {
		code      int
		down      bool
		processes bool
	}{
		"": {0, true, true},
		"quartet-botd-live-1: Up 3 days (healthy)": {1, false, false},
	} {
		root := t.TempDir()
		play(t, root, "deploy/docker/prepare.sh", "mkdir -p bin/image")
		play(t, root, "tools/setup.sh", "")
		play(t, root, "bin/quartet", "")
		play(t, root, "path/make", "")
		play(t, root, "path/docker", `case "$1 $2" in "ps -a") printf '`+running+`' ;; "compose up") exit 1 ;; esac`)
		stack := filepath.Join(root, "deploy/compose/stack.sh")
		if err := os.MkdirAll(filepath.Dir(stack), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(stack, script, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "deploy/compose/.env"), []byte("COMPOSE_PROJECT_NAME=quartet\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		calls := filepath.Join(root, "calls")
		cmd := exec.Command(stack, "up")
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(root, "path")+":"+os.Getenv("PATH"), "CALLS="+calls, "MODE=")
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		called, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		down := strings.Contains(string(called), "docker compose down")
		processes := strings.Contains(string(called), "quartet up")
		if code := cmd.ProcessState.ExitCode(); code != want.code || down != want.down || processes != want.processes {
			t.Errorf("while %q runs: exit code %d, down %v, processes %v; it called\n%s and said\n%s", running, code, down, processes, called, said)
		}
	}
}
