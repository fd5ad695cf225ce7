package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a test waits for what must come: many times what it
// takes on a loaded machine.
const Patience = 60 * time.Second

// Process is a running program.
type Process struct {
	Name string
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan struct{} // closed when the program has ended
	err  error         // how it ended; read after done

	forgotten bool // its log is not shown; owned by the test
}

// Start starts a program with exactly the given environment beside PATH and
// HOME. At the end of the test it is stopped, and its log is shown if the test
// failed.
func Start(t testing.TB, name string, env []string, args ...string) *Process {
	t.Helper()
	return launch(t, name, env, Program(t, name), nil, args...)
}

// launch is Start for what need not be one of the built programs. It gets files
// from descriptor 3 on.
func launch(t testing.TB, name string, env []string, path string, files []*os.File, args ...string) *Process {
	t.Helper()
	p := &Process{Name: name, log: &lockedBuffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.ExtraFiles = files
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() && !p.forgotten {
			t.Logf("the end of %s's log:\n%s", name, p.log.tail(8<<10))
		}
	})
	return p
}

// Stop sends SIGTERM, waits, and returns how the program ended.
func (p *Process) Stop() error {
	p.Signal(syscall.SIGTERM)
	return p.Wait()
}

// Signal sends a signal to the program.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Wait waits until the program has ended and returns how.
func (p *Process) Wait() error {
	select {
	case <-p.done:
		return p.err
	case <-time.After(Patience):
		return fmt.Errorf("%s did not end", p.Name)
	}
}

// Kill ends the program and everything it started. One that has ended by itself
// is left alone: its number may be another's by now.
func (p *Process) Kill() {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
	}
}

// Forget lets go of the log of a program that ended as it was to, so that the
// logs of a hundred others do not hide the one that tells something.
func (p *Process) Forget() {
	p.forgotten = true
	p.log = &lockedBuffer{}
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Log is what the program has printed so far.
func (p *Process) Log() string { return p.log.tail(1 << 30) }

// WaitHTTP waits until a GET of url answers status.
func (p *Process) WaitHTTP(t testing.TB, url string, status int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%s answers %d at %s", p.Name, status, url), func() error {
		select {
		case <-p.done:
			t.Fatalf("%s ended: %v\n%s", p.Name, p.err, p.log.tail(8<<10))
		default:
		}
		resp, err := http.Get(url)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != status {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil
	})
}

// Eventually waits until try succeeds, and fails the test when it never does.
func Eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s: %v", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Until waits, however long it takes, until look is done; but it fails the test
// when what look sees has not changed for so long that it will not.
func Until(t testing.TB, what string, look func() (seen any, done bool)) {
	t.Helper()
	var last any
	for changed := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		seen, done := look()
		switch {
		case done:
			return
		case seen != last:
			last, changed = seen, time.Now()
		case time.Since(changed) > Patience:
			t.Fatalf("never: %s: %v", what, seen)
		}
	}
}

// FreeAddr is a loopback address where nothing listens. Each is on an IP address
// of its own, so that nobody takes the port before the program does.
func FreeAddr(t testing.TB) string {
	t.Helper()
	ip := net.IPv4(127, byte(1+rand.N(254)), byte(rand.N(256)), byte(1+rand.N(254)))
	l, err := net.Listen("tcp", ip.String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Need skips the test on a user's machine when a program that it needs is
// missing, and fails it in CI, where set-up must have brought it.
func Need(t testing.TB, names ...string) string {
	t.Helper()
	var errs []error
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			return path
		}
		errs = append(errs, err)
	}
	lack(t, errors.Join(errs...))
	return ""
}

// lack ends a test for which this machine lacks something.
func lack(t testing.TB, what error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// lockedBuffer keeps what a program prints. It grows without moving what it has:
// that took a tenth of a second where the log was long, in which the program
// could not go on writing it.
type lockedBuffer struct {
	mu     sync.Mutex
	chunks [][]byte // all but the last are full; guarded by mu
}

const logChunk = 64 << 10

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for left := p; len(left) > 0; {
		last := len(b.chunks) - 1
		if last < 0 || len(b.chunks[last]) == logChunk {
			b.chunks = append(b.chunks, make([]byte, 0, logChunk))
			last++
		}
		n := min(len(left), logChunk-len(b.chunks[last]))
		b.chunks[last] = append(b.chunks[last], left[:n]...)
		left = left[n:]
	}
	return len(p), nil
}

func (b *lockedBuffer) tail(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := bytes.Join(b.chunks, nil)
	return string(all[max(0, len(all)-n):])
}
