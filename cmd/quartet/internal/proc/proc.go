// Package proc runs a child process for a launcher: output to a file, its own
// process group, a stop that asks first and kills later.
//
// A child never outlives the launcher on Linux, even when the launcher is
// killed with SIGKILL. A Ctrl-C on the terminal does not reach it: the
// launcher decides in which order its children stop. It does not restart
// anything.
package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	Path string
	Args []string
	Env  []string // the whole environment, NAME=value
	Log  string   // stdout and stderr go to this file, which starts empty
}

// Process is a started child. Its methods may be called from any goroutine.
type Process struct {
	pid  int
	done chan struct{}
	err  error // why it ended; set before done is closed
}

// Start starts the child and returns once it runs.
func Start(s Spec) (*Process, error) {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close() // the child has its own descriptor

	cmd := exec.Command(s.Path, s.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.Env, log, log
	cmd.SysProcAttr = attributes()

	p := &Process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends the parent-death signal when the THREAD that
		// started the child ends, so this one stays until the child has.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	return p, nil
}

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the child ended: "exit status 1", "signal: killed"; nil is exit
// status 0. Call it after Done is closed.
func (p *Process) Err() error { return p.err }

// Stop sends SIGTERM, waits up to grace, then sends SIGKILL to the child's
// whole process group. It returns when the child has ended, and reports
// whether it had to kill.
func (p *Process) Stop(grace time.Duration) (killed bool) {
	select {
	case <-p.done:
		return false
	default:
	}
	// An error means that it ended just now; done tells.
	_ = syscall.Kill(p.pid, syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return false
	case <-timer.C:
	}
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	<-p.done
	return true
}

// Tail returns up to n last lines of a file.
func Tail(path string, n int) ([]string, error) {
	data, err := end(path)
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(string(data), "\n")
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):], nil
}

// Trim leaves only the end of a log that is longer than limit bytes. A child
// that writes to it goes on there; what it writes in this instant can get lost.
func Trim(path string, limit int64) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= limit {
		return err
	}
	kept, err := end(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(kept)
	return errors.Join(err, f.Close())
}

// endBytes is what is looked at of a log: it can be long, its last lines are not.
const endBytes = 64 << 10

func end(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-endBytes), endBytes))
}
