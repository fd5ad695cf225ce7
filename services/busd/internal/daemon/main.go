package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/config"
	"quartet/services/busd/internal/spawn"
	"quartet/services/busd/internal/wire"
)

// Main does what a command line of dbus-daemon(1) asks for, and returns the
// exit code, as that program has it.
func Main(p Parts, args []string, stdout io.Writer) int {
	o, err := ParseArgs(args)
	if err == nil {
		err = p.do(o, args, stdout)
	}
	if err == nil {
		return 0
	}
	if usage, is := errors.AsType[*UsageError](err); is {
		if usage.Text != "" {
			fmt.Fprintln(p.Stderr, usage.Text)
		}
		if usage.Usage {
			io.WriteString(p.Stderr, Usage(p.Program))
		}
		return 1
	}
	fmt.Fprintf(p.Stderr, "%s[%d]: Failed to start message bus: %v\n", p.Program, os.Getpid(), err)
	return 1
}

func (p Parts) do(o Options, args []string, stdout io.Writer) error {
	switch o.Action {
	case PrintVersion:
		_, err := fmt.Fprintf(stdout, "D-Bus Message Bus Daemon busd %s\n", p.Version)
		return err
	case PrintIntrospection:
		_, err := io.WriteString(stdout, bus.Introspect(wire.BusPath))
		return err
	case PrintHelp:
		return &UsageError{Usage: true}
	}
	b, err := fromFront()
	switch {
	case err != nil:
		return err
	case b != nil:
		return b.report(func(ready func(string) error) error { return p.bus(o, args, b.front, ready) })
	}
	return p.bus(o, args, 0, func(address string) error { return o.print(address, os.Getpid()) })
}

// bus runs a bus, or puts one in the background. front is the process that has
// put this one there, or 0.
func (p Parts) bus(o Options, args []string, front int, ready func(address string) error) error {
	c, err := config.Parse(os.Environ())
	if err != nil {
		return err
	}
	if p.Observe == nil && observed(c) {
		return becomeTelemetry(args)
	}
	if front == 0 { // who is in front prints
		if err := o.keepPrinted(); err != nil {
			return err
		}
	}
	if o.Config != "" { // it is read again later, perhaps from elsewhere
		if o.Config, err = filepath.Abs(o.Config); err != nil {
			return err
		}
	}
	l, err := Load(o.Config)
	if err != nil {
		return err
	}
	if front == 0 && (o.Fork == Yes || o.Fork == AsConfigured && l.Config.Fork) {
		return background(o, args)
	}
	d := &daemon{Parts: p, options: o, config: c, environ: os.Environ(), loaded: l, listenPID: os.Getpid()}
	d.reloads.wake = make(chan struct{}, 1)
	if front != 0 {
		d.listenPID = front // it was left the sockets
		d.dir = "/"         // where we go as well, once we are ready
		// Otherwise ps -e and killall would know it as "exe", the last part of the
		// path executed.
		_ = os.WriteFile("/proc/self/comm", []byte(p.Program), 0)
		if !l.Config.KeepUmask {
			syscall.Umask(0o022)
		}
	}
	return d.run(ready)
}

// printed are the descriptors that are printed to and are for nothing else:
// whoever reads there waits for their end, as dbus-run-session does.
func (o Options) printed() []int {
	var fds []int
	for _, fd := range []int{o.PrintAddress, o.PrintPID} {
		if fd >= firstFD && !slices.Contains(fds, fd) {
			fds = append(fds, fd)
		}
	}
	return fds
}

// keepPrinted keeps them from the programs that are started. One that whoever
// started us did not open may be our own by now, such as the runtime's, and
// must not be written to. Those are closed on exec, and inherited ones never.
func (o Options) keepPrinted() error {
	for _, fd := range o.printed() {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			return fmt.Errorf("print to descriptor %d: it is not open", fd)
		}
		unix.CloseOnExec(fd)
	}
	return nil
}

// print prints what was asked for, where it was asked for, and ends it.
func (o Options) print(address string, pid int) error {
	defer func() {
		for _, fd := range o.printed() {
			unix.Close(fd)
		}
	}()
	if err := write(o.PrintAddress, address); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	if err := write(o.PrintPID, fmt.Sprint(pid)); err != nil {
		return fmt.Errorf("print the process id: %w", err)
	}
	return nil
}

// write writes a line to a descriptor, if there is one.
func write(fd int, text string) error {
	if fd < 0 {
		return nil
	}
	for rest := []byte(text + "\n"); len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("write to descriptor %d: %w", fd, err)
		}
		rest = rest[n:]
	}
	return nil
}

// ProgramName is what the process was called as.
func ProgramName() string { return filepath.Base(os.Args[0]) }

// Helper says whether this process was started by a bus to be a part of it,
// and not by a user; then it is that part until it ends.
func Helper() (code int, is bool) {
	if !spawn.Requested() {
		return 0, false
	}
	return spawn.Serve(), true
}
