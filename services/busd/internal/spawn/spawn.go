// Package spawn starts programs for the bus from a process of their own: the
// spawner, the same binary executed again before the bus hardens itself. So
// a filter of system calls and no_new_privs bind the bus alone, and what a
// program inherits is what the spawner has: no descriptor, no signal mask
// and no limit of the bus.
//
// The two talk over a pair of sockets, and that pair is also their bond: the
// spawner ends when the bus does, whatever ended it. The programs do not.
package spawn

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"
)

// ID is a request's number. It is never used again.
type ID uint64

// Request is a program to start. Argv[0] is its path, which is not searched
// for; Env is its whole environment ("NAME=value").
type Request struct {
	Argv []string
	Env  []string
}

// Kind says what became of a request.
type Kind uint8

// What becomes of a request: Started and then Exited or Signalled, or
// ExecFailed alone. Lost may take the place of any of them.
const (
	Started    Kind = iota + 1 // the program runs as PID
	ExecFailed                 // no program runs, because of Errno
	Exited                     // it exited with Status
	Signalled                  // it was killed by Signal
	Lost                       // nothing more will be known, because of Err; with a PID it may still run
)

// Event tells what became of a request. Fields that its Kind does not name
// are zero, but for PID.
type Event struct {
	ID     ID
	Kind   Kind
	PID    int
	Status int
	Signal syscall.Signal
	Errno  syscall.Errno
	Err    error
}

// What Start can refuse.
var (
	ErrClosed = errors.New("the spawner is closed")
	ErrBusy   = errors.New("too many programs wait for the spawner")
)

// maxQueue is how many requests wait at most, should the spawner hang.
const maxQueue = 4096

// Options is what a spawner needs.
type Options struct {
	// Report is told of every event, from goroutines of the spawner, those
	// of one request in order, and perhaps before Start returns its ID. It
	// must not call Close.
	Report func(Event)
	// Credential is who the programs run as; nil: who the bus is when the
	// spawner starts. The spawner itself takes it on, so that no more rights
	// than a program needs survive beside the bus.
	Credential *syscall.Credential
	// Dir is where the programs run; "" is where the bus is when the spawner
	// starts.
	Dir string
	Log *slog.Logger
}

// Spawner is the bus's side. Its methods may be called from any goroutine
// and never wait, but for Close.
type Spawner struct {
	opt  Options
	wake chan struct{} // something is in queue
	done chan struct{} // closed by Close
	work sync.WaitGroup

	mu     sync.Mutex // guards what follows
	lastID ID
	queue  []order
	live   map[ID]child
	proc   *process // nil: there is none now
	sealed bool
	closed bool
}

// child is a request the spawner was told of.
type child struct {
	proc *process
	pid  int // 0 until Started
}

// Open starts the spawner. The program's main must call Serve when Requested
// says so.
func Open(o Options) (*Spawner, error) {
	if Requested() {
		return nil, errors.New("start the spawner: this process is one; main has to call spawn.Serve first")
	}
	s := &Spawner{
		opt:  o,
		wake: make(chan struct{}, 1),
		done: make(chan struct{}),
		live: make(map[ID]child),
	}
	if _, err := s.process(); err != nil {
		return nil, err
	}
	s.work.Go(s.deliver)
	return s, nil
}

// Start asks for a program. Whether it runs, events tell.
func (s *Spawner) Start(r Request) (ID, error) {
	if len(r.Argv) == 0 {
		return 0, errors.New("start a program: there is no command")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enqueue(order{ID: s.lastID + 1, Argv: toBytes(r.Argv), Env: toBytes(r.Env)}); err != nil {
		return 0, err
	}
	s.lastID++
	return s.lastID, nil
}

// Kill sends SIGKILL to the program of a request, if it runs. It is not
// heard of otherwise than through its event.
func (s *Spawner) Kill(id ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enqueue(order{ID: id, Kill: true})
}

// Seal says that the bus has hardened itself, and that a spawner it starts
// now would be bound as it is. When the spawner dies after that, requests
// are Lost.
func (s *Spawner) Seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
}

// Close ends the spawner; programs go on. No event is reported afterwards.
func (s *Spawner) Close() {
	s.mu.Lock()
	wasClosed, p := s.closed, s.proc
	s.closed = true
	s.mu.Unlock()
	if !wasClosed {
		close(s.done)
	}
	if p != nil {
		p.hangUp()
	}
	s.work.Wait()
}

// enqueue adds an order; the caller holds mu.
func (s *Spawner) enqueue(o order) error {
	if s.closed {
		return ErrClosed
	}
	if len(s.queue) >= maxQueue {
		return ErrBusy
	}
	s.queue = append(s.queue, o)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// deliver hands the orders to the spawner, which may take its time.
func (s *Spawner) deliver() {
	for {
		select {
		case <-s.wake:
		case <-s.done:
			return
		}
		s.mu.Lock()
		orders := slices.Clone(s.queue)
		clear(s.queue)
		s.queue = s.queue[:0]
		s.mu.Unlock()
		for _, o := range orders {
			if o.Kill {
				s.kill(o)
			} else {
				s.start(o)
			}
		}
	}
}

func (s *Spawner) start(o order) {
	for {
		p, err := s.process()
		if err != nil {
			s.report(Event{ID: o.ID, Kind: Lost, Err: err})
			return
		}
		if s.assign(o.ID, p) {
			// A failed write needs no answer: the reader loses all that was live.
			p.send(o, s.deadline())
			return
		}
	}
}

// assign notes that a process was given a request; false: it has died, and
// what it lost was reported already.
func (s *Spawner) assign(id ID, p *process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != p {
		return false
	}
	s.live[id] = child{proc: p}
	return true
}

func (s *Spawner) kill(o order) {
	s.mu.Lock()
	c, running := s.live[o.ID]
	s.mu.Unlock()
	if running {
		c.proc.send(o, s.deadline())
	}
}

// deadline is until when the spawner has to take an order. One that nothing can
// take the place of may take its time: it is better late than gone.
func (s *Spawner) deadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return time.Time{}
	}
	return time.Now().Add(sendTimeout)
}

// process gives the living spawner, or starts one. Only Open and deliver
// call it, so there are never two.
func (s *Spawner) process() (*process, error) {
	s.mu.Lock()
	p, sealed, closed := s.proc, s.sealed, s.closed
	s.mu.Unlock()
	switch {
	case p != nil:
		return p, nil
	case closed:
		return nil, ErrClosed
	case sealed:
		return nil, errors.New("the process that starts programs has died, and a hardened bus cannot start another one: restart the bus")
	}
	p, err := launch(s.opt)
	if err != nil {
		return nil, fmt.Errorf("start the spawner: %w", err)
	}
	s.mu.Lock()
	s.proc = p
	closed = s.closed
	s.mu.Unlock()
	if closed { // Close did not see it
		p.hangUp()
	}
	s.work.Go(func() { s.read(p) })
	return p, nil
}

func (s *Spawner) report(e Event) {
	select {
	case <-s.done:
	default:
		s.opt.Report(e)
	}
}

func toBytes(texts []string) [][]byte {
	raw := make([][]byte, len(texts))
	for i, t := range texts {
		raw[i] = []byte(t)
	}
	return raw
}
