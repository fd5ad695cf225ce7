package differential_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a bus may take for anything.
const patience = 5 * time.Second

// A conn is a connection that sends any bytes and keeps what comes in the order
// in which it comes. It works on the bare socket: a session has thousands of
// round trips.
type conn struct {
	fd     int
	name   string // the unique one
	serial uint32 // the last

	buf []byte
	fds []int
	got []*event // all, in order

	ended   bool // the bus has hung up
	closed  bool // we have
	hello   bool // it has a name
	monitor bool
	passes  bool // it negotiated descriptors
	marks   uint32

	calls    []*event // received and not answered
	answered []*event
	seen     int // of got, for calls
}

// marker is the first serial of the calls that only find out how far the bus
// has come. They are in no transcript.
const marker = 0x70000000

func dial(address string) (*conn, error) {
	path, _, _ := strings.Cut(strings.TrimPrefix(address, "unix:path="), ",")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	limit := unix.NsecToTimeval(patience.Nanoseconds())
	err = errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit),
		unix.Connect(fd, &unix.SockaddrUnix{Name: path}))
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return &conn{fd: fd}, nil
}

func (c *conn) close() {
	if !c.closed {
		unix.Close(c.fd)
		c.closed = true
	}
	for _, fd := range c.fds {
		unix.Close(fd)
	}
	c.fds = nil
}

// live says whether anything can be sent.
func (c *conn) live() bool { return c != nil && !c.closed && !c.ended }

// send writes b, fds with its first byte. That the bus has hung up is no error
// here: it shows when it is read.
func (c *conn) send(b []byte, fds ...int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for len(b) > 0 {
		n, err := unix.SendmsgN(c.fd, b, rights, nil, unix.MSG_NOSIGNAL)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EPIPE, err == unix.ECONNRESET:
			return nil
		case err != nil:
			return os.NewSyscallError("sendmsg", err)
		}
		b, rights = b[n:], nil
	}
	return nil
}

// read reads once. Without wait it is no error that there is nothing.
func (c *conn) read(wait bool) error {
	flags := unix.MSG_CMSG_CLOEXEC
	if !wait {
		flags |= unix.MSG_DONTWAIT
	}
	var room [64 << 10]byte
	rights := make([]byte, unix.CmsgSpace(4*253))
	n, r, _, _, err := unix.Recvmsg(c.fd, room[:], rights, flags)
	switch {
	case err == unix.EINTR:
		return c.read(wait)
	case err == unix.EAGAIN:
		return os.ErrDeadlineExceeded
	case err == unix.ECONNRESET, err == nil && n == 0:
		c.ended = true
		c.got = append(c.got, &event{end: true})
		return io.EOF
	case err != nil:
		return os.NewSyscallError("recvmsg", err)
	}
	c.buf = append(c.buf, room[:n]...)
	all, err := unix.ParseSocketControlMessage(rights[:r])
	if err != nil {
		return err
	}
	for i := range all {
		fds, err := unix.ParseUnixRights(&all[i])
		if err != nil {
			return err
		}
		c.fds = append(c.fds, fds...)
	}
	return nil
}

// line reads a line of the handshake.
func (c *conn) line() (string, error) {
	for {
		if line, rest, ok := strings.Cut(string(c.buf), "\r\n"); ok {
			c.buf = []byte(rest)
			return line, nil
		}
		if err := c.read(true); err != nil {
			return "", err
		}
	}
}

// take moves whole messages to got.
func (c *conn) take() {
	for {
		n := size(c.buf)
		if n == 0 || len(c.buf) < n {
			return
		}
		e := parse(c.buf[:n])
		c.buf = c.buf[n:]
		for range e.fields[fieldFDs].n {
			e.fds = append(e.fds, identify(c.fds[0]))
			unix.Close(c.fds[0])
			c.fds = c.fds[1:]
		}
		c.got = append(c.got, e)
	}
}

// identify names what a descriptor is open on, and not the descriptor.
func identify(fd int) string {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err.Error()
	}
	return fmt.Sprint(st.Ino)
}

// until reads until found is true for a message, or the connection ends.
func (c *conn) until(found func(*event) bool) error {
	for at := len(c.got); ; {
		c.take()
		for ; at < len(c.got); at++ {
			if found(c.got[at]) {
				return nil
			}
		}
		if c.ended {
			return nil
		}
		if err := c.read(true); err != nil && err != io.EOF {
			return err
		}
	}
}

// mark is a call whose answer, whatever it is, shows that the bus has handled
// all that c has sent before.
func (c *conn) mark() (b []byte, serial uint32) {
	c.marks++
	serial = marker + c.marks
	m := driver("GetId")
	return m.bytes(serial, nil), serial
}

// settle waits until the bus has handled everything that c has sent, b last,
// or has hung up.
func (c *conn) settle(b []byte) error {
	question, serial := c.mark()
	if err := c.send(append(b, question...)); err != nil {
		return err
	}
	return c.until(func(e *event) bool { return c.answer(e, serial) })
}

// answer says whether e is what the bus answers to c's own message with that
// serial: a monitor sees the answers to others, whose serials may be the same.
func (c *conn) answer(e *event, serial uint32) bool {
	return e.replySerial() == serial && e.fromBus() && (c.name == "" || e.text(fieldDestination) == c.name)
}

// drain takes what is there.
func (c *conn) drain() error {
	if c.closed {
		return nil
	}
	for !c.ended {
		err := c.read(false)
		c.take()
		switch {
		case err == io.EOF, errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}
