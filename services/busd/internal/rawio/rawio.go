// Package rawio is the system calls of the bus thread: epoll, accept, and
// sending and receiving with file descriptors, made without telling Go's
// scheduler about them.
//
// A call of package syscall hands the thread's processor back before it enters
// the kernel and asks for it again after it, which costs a bus that makes
// nothing but short calls a fifth to a half of its time. The calls here do not,
// so none of them may block: every socket is non-blocking, and only
// [Poll.Wait] may wait, which does so for a moment in this way and for long in
// the ordinary one.
package rawio

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrAgain is what a call returns that would have to wait.
const ErrAgain = unix.EAGAIN

// MaxFDs is how many file descriptors the kernel passes with one message
// (SCM_MAX_FD).
const MaxFDs = 253

// A Buffers holds what the calls of one thread point the kernel at, so that
// none of them allocates.
type Buffers struct {
	head    unix.Msghdr
	iov     [MaxPieces]unix.Iovec
	control [controlSize]byte
	fds     [MaxFDs]int
}

// MaxPieces is how many pieces one Send takes at most (UIO_MAXIOV is 1,024).
const MaxPieces = 256

const controlSize = unix.SizeofCmsghdr + MaxFDs*4 + 64

// Received says what Receive brought.
type Received struct {
	N int // bytes; 0 is the end of the stream

	// FDs are the file descriptors that came along, close-on-exec, in order.
	// They are the caller's; the slice is overwritten by the next call.
	FDs []int

	// Truncated says that file descriptors were lost on the way: this process
	// may open no more of them, or a security module kept them.
	Truncated bool
}

// Receive takes what has arrived at the socket, len(p) bytes at most.
func (b *Buffers) Receive(fd int, p []byte) (Received, error) {
	b.iov[0].Base = unsafe.SliceData(p)
	b.iov[0].SetLen(len(p))
	b.head = unix.Msghdr{Iov: &b.iov[0], Control: &b.control[0]}
	b.head.SetIovlen(1)
	b.head.SetControllen(controlSize)
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.head)), unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		switch errno {
		case 0:
			r := Received{N: int(n), Truncated: b.head.Flags&unix.MSG_CTRUNC != 0}
			if b.head.Controllen > 0 {
				r.FDs = b.rights(int(b.head.Controllen))
			}
			return r, nil
		case unix.EINTR:
		default:
			return Received{}, errno
		}
	}
}

// rights reads SCM_RIGHTS out of the first n bytes of control.
func (b *Buffers) rights(n int) []int {
	fds := b.fds[:0]
	for at := 0; at+unix.SizeofCmsghdr <= n; {
		head := (*unix.Cmsghdr)(unsafe.Pointer(&b.control[at]))
		size := int(head.Len)
		if size < unix.SizeofCmsghdr || at+size > n {
			break
		}
		if head.Level == unix.SOL_SOCKET && head.Type == unix.SCM_RIGHTS {
			for i := at + unix.CmsgLen(0); i+4 <= at+size && len(fds) < MaxFDs; i += 4 {
				fds = append(fds, int(*(*int32)(unsafe.Pointer(&b.control[i]))))
			}
		}
		at += unix.CmsgSpace(size - unix.CmsgLen(0))
	}
	return fds
}

// A Piece is a part of what is to be sent.
type Piece []byte

// Send hands pieces to the socket in one call, as many as go into it, with fds
// beside the first byte. It returns how many bytes were taken.
func (b *Buffers) Send(fd int, pieces []Piece, fds []int) (n int, err error) {
	if len(pieces) == 1 && len(fds) == 0 {
		return sendOne(fd, pieces[0])
	}
	pieces = pieces[:min(len(pieces), MaxPieces)]
	for i, p := range pieces {
		b.iov[i].Base = unsafe.SliceData(p)
		b.iov[i].SetLen(len(p))
	}
	b.head = unix.Msghdr{Iov: &b.iov[0]}
	b.head.SetIovlen(len(pieces))
	if len(fds) > 0 {
		head := (*unix.Cmsghdr)(unsafe.Pointer(&b.control[0]))
		head.Level, head.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
		head.SetLen(unix.CmsgLen(4 * len(fds)))
		for i, f := range fds {
			*(*int32)(unsafe.Pointer(&b.control[unix.CmsgLen(4*i)])) = int32(f)
		}
		b.head.Control = &b.control[0]
		b.head.SetControllen(unix.CmsgSpace(4 * len(fds)))
	}
	for {
		r, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.head)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch errno {
		case 0:
			return int(r), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

func sendOne(fd int, p []byte) (int, error) {
	for {
		r, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			return int(r), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// Accept takes a waiting connection of a listening socket, non-blocking and
// close-on-exec.
func Accept(fd int) (int, error) {
	for {
		r, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		switch errno {
		case 0:
			return int(r), nil
		case unix.EINTR:
		default:
			return -1, errno
		}
	}
}

// Unread is the most that the other end of a Unix socket has not received yet,
// with the kernel's overhead for it.
func Unread(fd int) (int, error) {
	var n int32
	if _, _, errno := syscall.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCOUTQ, uintptr(unsafe.Pointer(&n))); errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Close closes fd.
func Close(fd int) {
	syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}
