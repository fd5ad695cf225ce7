package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/daemon"
)

// actAs makes the test's binary the program under test.
const actAs = "TEST_ACTS_AS_BUSD"

// patience bounds whatever should take a moment.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	if code, is := daemon.Helper(); is {
		os.Exit(code)
	}
	if os.Getenv(actAs) != "" {
		main()
	}
	os.Exit(m.Run())
}

const open = `<policy context="default"><allow user="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>`

// place is a folder with a configuration in it.
type place struct {
	dir, config, socket string
}

// newPlace makes a folder, whose path is short enough for sockets, with a
// configuration that has this inside.
func newPlace(t *testing.T, inside string) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "busd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &place{dir: dir, config: filepath.Join(dir, "bus.conf"), socket: filepath.Join(dir, "s")}
	p.write(t, "<listen>unix:path="+p.socket+"</listen>"+strings.ReplaceAll(inside, "DIR", dir))
	return p
}

func (p *place) write(t *testing.T, inside string) {
	t.Helper()
	next := p.config + ".new"
	if err := os.WriteFile(next, []byte("<busconfig>"+inside+"</busconfig>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, p.config); err != nil {
		t.Fatal(err)
	}
}

func (p *place) address() string { return "unix:path=" + p.socket }

// command is busd with these arguments.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), actAs+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// running is a busd in the foreground.
type running struct {
	cmd     *exec.Cmd
	address string
	ended   chan struct{}
	result  error

	mu  sync.Mutex
	log bytes.Buffer // guarded by mu
}

func (r *running) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(text)
}

func (r *running) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// start runs busd until the test ends, and waits for its address.
func start(t *testing.T, environ []string, args ...string) *running {
	t.Helper()
	return startCommand(t, environ, command(append(args, "--nofork", "--print-address=1")...))
}

func startCommand(t *testing.T, environ []string, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{cmd: cmd, ended: make(chan struct{})}
	cmd.Env = append(cmd.Env, environ...)
	if cmd.Stderr == nil {
		cmd.Stderr = r
	}
	stdout, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	go func() { r.result = cmd.Wait(); close(r.ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-r.ended })
	if err := stdout.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v\n%s", err, r.said())
	}
	r.address = strings.TrimSpace(line)
	return r
}

// stop sends SIGTERM and wants exit code 0.
func (r *running) stop(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.wait(t)
	if r.result != nil {
		t.Errorf("after SIGTERM: %v\n%s", r.result, r.said())
	}
}

func (r *running) wait(t *testing.T) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		t.Fatalf("it did not end\n%s", r.said())
	}
}

func dial(t *testing.T, address string) *client.Conn {
	t.Helper()
	c, err := client.Dial(address, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// eventually waits for something to become so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// fails runs busd, which has to end by itself, and returns its exit code and
// what it wrote to its standard error.
func fails(t *testing.T, environ []string, args ...string) (code int, stderr string) {
	t.Helper()
	cmd := command(args...)
	cmd.Env = append(cmd.Env, environ...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Run()
	if err == nil {
		return 0, errs.String()
	}
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), errs.String()
}
