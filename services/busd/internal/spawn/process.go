package spawn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// order is what the bus asks of the spawner. Arguments and environment are
// bytes: JSON would spoil text that is not UTF-8.
type order struct {
	ID   ID
	Kill bool     `json:",omitempty"`
	Argv [][]byte `json:",omitempty"`
	Env  [][]byte `json:",omitempty"`
}

// notice is what the spawner tells the bus. The first has Kind 0: it is
// ready.
type notice struct {
	ID    ID
	Kind  Kind
	PID   int `json:",omitempty"`
	Value int `json:",omitempty"` // status, signal or errno
}

var errDied = errors.New("the process that starts programs has died")

const (
	// socketFD is where the spawner finds its socket.
	socketFD = 3
	// marker is the variable that makes a process a spawner.
	marker = "BUSD_SPAWNER_FD"
	// readyTimeout and sendTimeout bound what only takes long when the spawner
	// is stopped, a program's file system hangs or the machine is at its end.
	readyTimeout = 10 * time.Second
)

var sendTimeout = 10 * time.Second // a variable for tests

// process is a running spawner.
type process struct {
	pid    int
	conn   *os.File
	in     *json.Decoder // owned by launch, then by read
	out    *json.Encoder // owned by deliver
	closed sync.Once
}

// launch starts a spawner and waits until it is ready.
func launch(o Options) (*process, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	p := &process{conn: os.NewFile(uintptr(fds[0]), "spawner")}
	p.in, p.out = json.NewDecoder(p.conn), json.NewEncoder(p.conn)
	p.pid, err = execute(fds[1], o)
	_ = unix.Close(fds[1])
	if err != nil {
		p.hangUp()
		return nil, err
	}
	err = p.conn.SetDeadline(time.Now().Add(readyTimeout))
	var ready notice
	if err == nil {
		err = p.in.Decode(&ready)
	}
	if err == nil {
		err = p.conn.SetDeadline(time.Time{})
	}
	if err != nil {
		p.end()
		return nil, fmt.Errorf("wait until it is ready: %w", err)
	}
	return p, nil
}

// execute runs this binary again, as a spawner. The magic link leads to it
// even after an upgrade has replaced the file.
func execute(socket int, o Options) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close() // only read
	return syscall.ForkExec("/proc/self/exe", []string{os.Args[0], "(starts services)"}, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   []string{marker + "=" + strconv.Itoa(socketFD)},
		Files: []uintptr{null.Fd(), 1, 2, uintptr(socket)},
		// A session of its own: Ctrl-C is for the bus.
		Sys: &syscall.SysProcAttr{Setsid: true, Credential: o.Credential},
	})
}

// send writes an order. A spawner that does not take it in time is given up: its
// end settles all that it was told. The zero deadline is none.
func (p *process) send(o order, deadline time.Time) {
	err := p.conn.SetWriteDeadline(deadline)
	if err == nil {
		err = p.out.Encode(o)
	}
	if err != nil {
		p.hangUp()
	}
}

// hangUp closes the socket, which ends the spawner and wakes the reader.
func (p *process) hangUp() { p.closed.Do(func() { _ = p.conn.Close() }) }

// end makes sure that the spawner is gone, and says how it went.
func (p *process) end() syscall.WaitStatus {
	p.hangUp()
	var status syscall.WaitStatus
	// It ends by itself when the socket closes, unless it is stopped or
	// stuck in an exec; killing it takes nothing from it.
	_ = syscall.Kill(p.pid, syscall.SIGKILL)
	for {
		if _, err := syscall.Wait4(p.pid, &status, 0, nil); err != syscall.EINTR {
			return status
		}
	}
}

// read reports what the spawner tells until it ends, and then loses what it
// still had.
func (s *Spawner) read(p *process) {
	for {
		var n notice
		if err := p.in.Decode(&n); err != nil {
			break
		}
		if e := event(n); s.note(p, e) {
			s.report(e)
		}
	}
	status := p.end()
	s.mu.Lock()
	s.proc = nil
	var lost []Event
	for id, c := range s.live {
		if c.proc == p {
			lost = append(lost, Event{ID: id, Kind: Lost, PID: c.pid, Err: errDied})
			delete(s.live, id)
		}
	}
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return
	}
	s.opt.Log.LogAttrs(context.Background(), slog.LevelWarn, "spawner ended",
		slog.Int("pid", p.pid), slog.Int("wait_status", int(status)), slog.Int("programs_lost", len(lost)))
	for _, e := range lost {
		s.report(e)
	}
}

// note keeps the books; false: the event is of no request.
func (s *Spawner) note(p *process, e Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.live[e.ID]
	if !known || c.proc != p {
		return false
	}
	if e.Kind == Started {
		s.live[e.ID] = child{proc: p, pid: e.PID}
	} else {
		delete(s.live, e.ID)
	}
	return true
}

// event reads a notice.
func event(n notice) Event {
	e := Event{ID: n.ID, Kind: n.Kind, PID: n.PID}
	switch n.Kind {
	case ExecFailed:
		e.Errno = syscall.Errno(n.Value)
	case Exited:
		e.Status = n.Value
	case Signalled:
		e.Signal = syscall.Signal(n.Value)
	}
	return e
}
