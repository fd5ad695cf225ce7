// Package buses runs message buses as processes for tests and benchmarks:
// busd as it is built from this tree, the dbus-daemon that is installed, and
// Debian's dbus-broker, which needs no systemd here because this package plays
// its launcher.
//
//	buses.go    a bus while it runs, and how it ends
//	build.go    busd, built once for all tests of a run
//	daemon.go   what has dbus-daemon's command line
//	broker.go   dbus-broker behind its controller socket, policy.go what it is told
//	procfs.go   processor time and memory
//	fortest.go  the same, tied to a test
//
// Each bus has a folder, a socket and a process of its own and ends with the
// process that started it, however that ends. This is no part of the program:
// only tests, the benchmarks and their tools import it.
package buses

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Kind is a program that is a bus.
type Kind string

const (
	Busd   Kind = "busd"
	Daemon Kind = "dbus-daemon"
	Broker Kind = "dbus-broker"
)

// Kinds are all programs, ours first.
var Kinds = []Kind{Busd, Daemon, Broker}

// ErrMissing is in the error of Start when the program is not installed.
var ErrMissing = errors.New("not installed")

// patience is how long a bus may take to start, and to end when it is told to.
const patience = 10 * time.Second

// Options say how a bus is started. The zero value is a session bus with the
// configuration that the system has installed.
type Options struct {
	// Config is a configuration in dbus-daemon's XML. Empty is the installed
	// session.conf. dbus-broker allows everything whatever is said here.
	Config string

	// Address is what to listen on. Empty is what Config says, and a socket in
	// the bus's folder when Config is empty too. dbus-broker has always that.
	Address string

	// Binary is the program to run in place of the usual one.
	Binary string

	Args []string // further arguments
	Env  []string // further variables, as NAME=value
}

// Bus is a running bus.
type Bus struct {
	Kind    Kind
	Address string // as the bus has printed it; several are joined with ;
	PID     int
	Dir     string // its folder, which Stop removes; what it logs is in Dir/log

	process *os.Process
	control io.Closer // dbus-broker's controller; nil for others
	ended   chan struct{}
	result  error // of the process, once ended is closed
}

// Start runs a bus and returns when it takes connections. The caller stops it.
// The error wraps ErrMissing when there is no such program here.
func Start(kind Kind, o Options) (*Bus, error) {
	binary, err := program(kind, o.Binary)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bus-")
	if err != nil {
		return nil, err
	}
	b := &Bus{Kind: kind, Dir: dir, ended: make(chan struct{})}
	if kind == Broker {
		err = b.startBroker(binary, o)
	} else {
		err = b.startDaemon(binary, o)
	}
	if err != nil {
		log := b.Log()
		b.kill()
		return nil, fmt.Errorf("start %s: %w\n%s", kind, err, log)
	}
	return b, nil
}

// Program is the path of the program of a kind, which every user may run. busd
// is built for it. The error wraps ErrMissing when there is no such program.
func Program(kind Kind) (string, error) { return program(kind, "") }

// program finds the binary of a kind.
func program(kind Kind, given string) (string, error) {
	switch {
	case given != "":
		return given, nil
	case kind == Busd:
		return built()
	}
	path, err := exec.LookPath(string(kind))
	if err != nil {
		return "", fmt.Errorf("%s: %w: apt-get install %s", kind, ErrMissing, kind)
	}
	return path, nil
}

// run starts cmd with its output in the log.
func (b *Bus) run(cmd *exec.Cmd, o Options) error {
	log, err := os.Create(filepath.Join(b.Dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = b.Dir
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread that forked ends, not
		// the process: this one stays until the bus has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			b.result = cmd.Wait()
			close(b.ended)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	b.process, b.PID = cmd.Process, cmd.Process.Pid
	return nil
}

// Ended is closed when the process has ended, by itself or by Stop.
func (b *Bus) Ended() <-chan struct{} { return b.ended }

// Signal sends the process a signal, SIGHUP for example.
func (b *Bus) Signal(s syscall.Signal) error { return b.process.Signal(s) }

// Log is what the bus has written to its standard output and error so far.
func (b *Bus) Log() string {
	raw, err := os.ReadFile(filepath.Join(b.Dir, "log"))
	if err != nil {
		return ""
	}
	return string(raw)
}

// Stop ends the bus by SIGTERM and removes its folder. It is an error when the
// bus had ended before, ends otherwise than in order, or has to be killed.
func (b *Bus) Stop() error {
	select {
	case <-b.ended:
		err := fmt.Errorf("%s had ended: %w\n%s", b.Kind, orEnded(b.result), b.Log())
		b.kill()
		return err
	default:
	}
	if err := b.Signal(syscall.SIGTERM); err != nil {
		b.kill()
		return fmt.Errorf("stop %s: %w", b.Kind, err)
	}
	select {
	case <-b.ended:
	case <-time.After(patience):
		err := fmt.Errorf("%s did not end within %v of SIGTERM\n%s", b.Kind, patience, b.Log())
		b.kill()
		return err
	}
	var err error
	if b.result != nil && !b.early() {
		err = fmt.Errorf("stop %s: %w\n%s", b.Kind, b.result, b.Log())
	}
	b.kill()
	return err
}

// early says that the bus was told to end before it listened to signals, which
// dbus-daemon does only some time after it has printed its address.
func (b *Bus) early() bool {
	ended, ok := errors.AsType[*exec.ExitError](b.result)
	return ok && b.Kind == Daemon && ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM
}

// orEnded is the error of a process, or that there was none.
func orEnded(result error) error {
	if result == nil {
		return errors.New("exit status 0")
	}
	return result
}

// kill ends whatever of the bus is left. It may be called for one that never
// ran.
func (b *Bus) kill() {
	if b.process != nil {
		_ = b.process.Kill() // only fails when it has ended
		<-b.ended
	}
	if b.control != nil {
		b.control.Close()
	}
	os.RemoveAll(b.Dir)
}
