package load

import (
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// team runs parts of a workload beside each other, each on a thread of its own.
// The first that fails hangs up the connections, so that all others end.
type team struct {
	wait  sync.WaitGroup
	conns []*conn

	mu    sync.Mutex
	first error // guarded by mu
}

// start lets f run.
func (t *team) start(f func() error) {
	t.wait.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		t.fail(f())
	})
}

// fail notes the first error.
func (t *team) fail(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	first := t.first == nil
	if first {
		t.first = err
	}
	t.mu.Unlock()
	if first {
		for _, c := range t.conns {
			c.hangUp()
		}
	}
}

// end waits for all parts and returns the first error.
func (t *team) end() error {
	t.wait.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first
}

// dialMany opens n connections, and closes them again on an error.
func (r *run) dialMany(n, buffer int) ([]*conn, error) {
	cs := make([]*conn, 0, n)
	for range n {
		c, err := r.dial(buffer, false)
		if err != nil {
			closeAll(cs)
			return nil, fmt.Errorf("connection %d of %d: %w", len(cs)+1, n, err)
		}
		cs = append(cs, c)
	}
	return cs, nil
}

func closeAll(cs []*conn) {
	for _, c := range cs {
		c.close()
	}
}

// crowd is many connections on one thread.
type crowd struct {
	conns  []*conn
	epoll  int
	events [256]unix.EpollEvent
}

// watch takes over the reading of conns.
func watch(conns []*conn) (*crowd, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	w := &crowd{conns: conns, epoll: fd}
	for i, c := range conns {
		c.watched = true
		err := unix.SetNonblock(c.fd, true)
		if err == nil {
			err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)})
		}
		if err != nil {
			w.close()
			return nil, fmt.Errorf("epoll: %w", err)
		}
	}
	return w, nil
}

func (w *crowd) close() { unix.Close(w.epoll) }

// each waits for messages and gives them to f with the place of their
// connection, until done.
func (w *crowd) each(done func() bool, f func(i int, m frame) error) error {
	for !done() {
		n, err := unix.EpollWait(w.epoll, w.events[:], int(patience.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
		if n == 0 {
			return errLate
		}
		for _, e := range w.events[:n] {
			if err := w.drain(int(e.Fd), f); err != nil {
				return err
			}
		}
	}
	return nil
}

// drain reads a connection once and gives what came to f.
func (w *crowd) drain(i int, f func(int, frame) error) error {
	c := w.conns[i]
	if err := c.fill(); err != nil {
		if err == errEmpty {
			return nil
		}
		return err
	}
	for {
		m, ok, err := c.take()
		if err != nil || !ok {
			return err
		}
		if err := f(i, m); err != nil {
			return err
		}
	}
}
