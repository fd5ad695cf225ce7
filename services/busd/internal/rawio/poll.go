package rawio

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a Poll can wait for. Errors and hang-ups it reports besides, with bits of
// their own.
const (
	In  = unix.EPOLLIN
	Out = unix.EPOLLOUT
)

// hold is how long Wait holds on to its processor. Under load something comes
// before it has passed, and nothing is paid to the scheduler; a bus with
// nothing to do waits behind it in the ordinary way and is not woken.
const hold = 5 * time.Millisecond

// An Event is a socket that is ready.
type Event = unix.EpollEvent

// A Poll waits for sockets, level-triggered.
type Poll struct {
	fd     int
	events [128]Event
}

// NewPoll makes a Poll that waits for nothing.
func NewPoll() (*Poll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create: %w", err)
	}
	return &Poll{fd: fd}, nil
}

// Close frees it.
func (p *Poll) Close() { Close(p.fd) }

// Add begins to wait for what in events happens at fd.
func (p *Poll) Add(fd int, events uint32) error { return p.control(unix.EPOLL_CTL_ADD, fd, events) }

// Change replaces what is waited for at fd.
func (p *Poll) Change(fd int, events uint32) error { return p.control(unix.EPOLL_CTL_MOD, fd, events) }

// Remove ends it. Closing fd does so too, unless another process has it.
func (p *Poll) Remove(fd int) { p.control(unix.EPOLL_CTL_DEL, fd, 0) }

func (p *Poll) control(op uintptr, fd int, events uint32) error {
	e := Event{Events: events, Fd: int32(fd)}
	if _, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.fd), op, uintptr(fd), uintptr(unsafe.Pointer(&e)), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// Wait returns the sockets that are ready, at the latest after timeout, where
// less than 0 means never. The slice is overwritten by the next call.
func (p *Poll) Wait(timeout time.Duration) ([]Event, error) {
	first := timeout
	if first < 0 || first > hold {
		first = hold
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), milliseconds(first), 0, 0)
	if errno == 0 && n == 0 && first != timeout {
		n, _, errno = syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), milliseconds(timeout-first), 0, 0)
	}
	switch errno {
	case 0:
		return p.events[:n], nil
	case unix.EINTR:
		return nil, nil
	}
	return nil, fmt.Errorf("epoll_wait: %w", errno)
}

// milliseconds rounds up, so that a timer is due when the wait for it ends.
func milliseconds(d time.Duration) uintptr {
	if d < 0 {
		return ^uintptr(0)
	}
	return uintptr((d + time.Millisecond - 1) / time.Millisecond)
}
