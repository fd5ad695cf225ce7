package spawn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requested says whether this process was started to be a spawner.
func Requested() bool { return os.Getenv(marker) != "" }

// server is the spawner's own side. Everything happens on one thread, so a
// child can't end before its number is known.
type server struct {
	out   *json.Encoder
	null  *os.File
	byPID map[int]ID
	byID  map[ID]int
}

// Serve is the whole life of a spawner; main exits with what it returns. It
// has to be called on main's goroutine, before anything else is done.
func Serve() int {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "busd: spawner:", err)
		return 1
	}
	return 0
}

func serve() error {
	// A child begins with the signal mask of the thread that forks.
	runtime.LockOSThread()
	if os.Getenv(marker) != strconv.Itoa(socketFD) || !isSocket(socketFD) {
		return errors.New(marker + " is only for busd's own use: unset it")
	}
	unix.CloseOnExec(socketFD)
	socket := os.NewFile(socketFD, "bus")
	if err := closeInherited(); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	ended := takeSignals()
	if err := inherit(); err != nil {
		return err
	}
	s := &server{out: json.NewEncoder(socket), null: null, byPID: make(map[int]ID), byID: make(map[ID]int)}
	if err := s.out.Encode(notice{}); err != nil {
		return fmt.Errorf("tell the bus: %w", err)
	}
	return s.run(orders(json.NewDecoder(socket)), ended)
}

// run serves until the bus is gone.
func (s *server) run(orders <-chan order, ended <-chan os.Signal) error {
	for {
		var err error
		select {
		case o, open := <-orders:
			switch {
			case !open:
				return nil
			case o.Kill:
				if pid := s.byID[o.ID]; pid != 0 {
					_ = syscall.Kill(pid, syscall.SIGKILL) // not reaped yet, so it is still that program
				}
			default:
				err = s.start(o)
			}
		case <-ended:
			err = s.reap()
		}
		if err != nil {
			return err
		}
	}
}

// start runs one program. The error is the bus's silence, not the program's
// failure.
func (s *server) start(o order) error {
	argv := toStrings(o.Argv)
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env:   toStrings(o.Env),
		Files: []uintptr{s.null.Fd(), 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		errno := syscall.EINVAL
		_ = errors.As(err, &errno)
		return s.out.Encode(notice{ID: o.ID, Kind: ExecFailed, Value: int(errno)})
	}
	s.byPID[pid], s.byID[o.ID] = o.ID, pid
	return s.out.Encode(notice{ID: o.ID, Kind: Started, PID: pid})
}

// reap tells of all children that have ended. One signal may stand for many.
func (s *server) reap() error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			return nil
		}
		id, known := s.byPID[pid]
		if !known {
			continue
		}
		delete(s.byPID, pid)
		delete(s.byID, id)
		n := notice{ID: id, Kind: Exited, PID: pid, Value: status.ExitStatus()}
		if status.Signaled() {
			n.Kind, n.Value = Signalled, int(status.Signal())
		}
		if err := s.out.Encode(n); err != nil {
			return fmt.Errorf("tell the bus: %w", err)
		}
	}
}

// orders reads what the bus asks; the channel closes when the bus is gone.
func orders(in *json.Decoder) <-chan order {
	read := make(chan order)
	go func() {
		defer close(read)
		for {
			var o order
			if err := in.Decode(&o); err != nil {
				if !errors.Is(err, io.EOF) {
					fmt.Fprintln(os.Stderr, "busd: spawner: read the bus:", err)
				}
				return
			}
			if o.Kill || len(o.Argv) > 0 {
				read <- o
			}
		}
	}()
	return read
}

// takeSignals makes the runtime handle every signal there is, because what
// it handles is reset to the default in a child, and what was ignored when
// this process began would otherwise stay so. The signals do nothing here:
// the spawner ends with the bus, which may need it until then.
func takeSignals() (childEnded <-chan os.Signal) {
	swallowed := make(chan os.Signal, 1)
	signal.Notify(swallowed)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	for sig := uintptr(32); sig <= 33; sig++ {
		heed(sig)
	}
	return ended
}

// heed undoes that a signal is ignored. The runtime leaves alone those that
// belong to the C library, which posix_spawn, and so make, lets children ignore.
func heed(sig uintptr) {
	var action [64]byte // sigaction of the kernel, with its handler first
	const size = 8      // of its set of signals
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&action)), size, 0, 0); errno != 0 {
		return
	}
	const ignored = 1
	if *(*uintptr)(unsafe.Pointer(&action)) == ignored {
		action = [64]byte{} // the default
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, size, 0, 0)
	}
}

// inherit sets what children take over from this thread and process.
func inherit() error {
	var none unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil); err != nil {
		return fmt.Errorf("clear the signal mask: %w", err)
	}
	// Otherwise ps -e would show "exe", the last part of the path executed.
	_ = os.WriteFile("/proc/self/comm", []byte("busd-spawner"), 0)
	// A bus is often protected from the out-of-memory killer; what it starts
	// should not be.
	const score = "/proc/self/oom_score_adj"
	if text, err := os.ReadFile(score); err == nil && bytes.HasPrefix(text, []byte("-")) {
		if err := os.WriteFile(score, []byte("0"), 0); err != nil {
			fmt.Fprintln(os.Stderr, "busd: spawner: services stay protected from the out-of-memory killer:", err)
		}
	}
	return nil
}

// closeInherited closes what the bus was given without close-on-exec, such
// as sockets from systemd. What the runtime itself has open is close-on-exec.
func closeInherited() error {
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, link := range links {
		fd, err := strconv.Atoi(link.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
	return nil
}

func isSocket(fd int) bool {
	_, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil
}

func toStrings(raw [][]byte) []string {
	texts := make([]string, len(raw))
	for i, r := range raw {
		texts[i] = string(r)
	}
	return texts
}
