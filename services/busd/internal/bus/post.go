package bus

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/rawio"
)

// posted is the door between the bus thread and everybody else.
type posted struct {
	fd int // an eventfd: readable while there is something

	mu    sync.Mutex
	calls []func() // guarded by mu
	shut  bool     // guarded by mu
}

func (d *posted) open() (err error) {
	if d.fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	return nil
}

// Post lets the bus thread call fn, in the order of the calls to Post. It may
// be called from anywhere. It returns false once the bus has stopped: then fn
// is never called.
func (b *Bus) Post(fn func()) bool {
	d := &b.posted
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return false
	}
	d.calls = append(d.calls, fn)
	if len(d.calls) == 1 {
		_, _ = unix.Write(d.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // it is there to be readable; full is as good
	}
	return true
}

// Do calls fn on the bus thread and waits for it to return. It returns false,
// without a call, once the bus has stopped.
func (b *Bus) Do(fn func()) bool {
	done := make(chan struct{})
	if !b.Post(func() { defer close(done); fn() }) {
		return false
	}
	<-done
	return true
}

// runPosted runs what was posted.
func (b *Bus) runPosted() {
	var count [8]byte
	_, _ = unix.Read(b.posted.fd, count[:])
	b.posted.mu.Lock()
	calls := b.posted.calls
	b.posted.calls = nil
	b.posted.mu.Unlock()
	for _, fn := range calls {
		b.attempt(fn)
	}
}

// close ends the door: what was posted is still called, nothing more is taken.
func (d *posted) close() {
	d.mu.Lock()
	d.shut = true
	d.mu.Unlock()
}

func (d *posted) free() { rawio.Close(d.fd) }
