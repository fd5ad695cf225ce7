package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/wire"
)

// Message is one that has come. Header fields and body share bytes that
// nobody else uses.
type Message struct {
	wire.Message
	Body []byte
	FDs  []int // the receiver closes them, see CloseFDs
}

// Values reads the body from its first argument on.
func (m *Message) Values() wire.Decoder { return m.Decode(m.Body) }

// CloseFDs closes the descriptors that came with the message.
func (m *Message) CloseFDs() {
	closeFDs(m.FDs)
	m.FDs = nil
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// Next is the next message, in the order in which they came. The error wraps
// os.ErrDeadlineExceeded when none came within Timeout; then the connection
// can be used on.
func (c *Conn) Next() (*Message, error) {
	if len(c.waiting) > 0 {
		m := c.waiting[0]
		c.waiting = c.waiting[1:]
		return m, nil
	}
	return c.receive(c.deadline())
}

// Waiting takes all messages that came while something else was awaited.
func (c *Conn) Waiting() []*Message {
	all := c.waiting
	c.waiting = nil
	return all
}

// ReadLine is the next line of the handshake, without its end.
func (c *Conn) ReadLine() (string, error) {
	deadline := c.deadline()
	for {
		if line, rest, ok := bytes.Cut(c.buf, []byte("\r\n")); ok {
			c.buf = rest
			return string(line), nil
		}
		if err := c.read(deadline); err != nil {
			return "", err
		}
	}
}

// AwaitEnd waits until the bus has hung up. Messages that come first are kept
// for Waiting. It is an error when it does not within Timeout.
func (c *Conn) AwaitEnd() error {
	deadline := c.deadline()
	for {
		m, err := c.receive(deadline)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
			return nil
		case err != nil:
			return err
		}
		c.waiting = append(c.waiting, m)
	}
}

func (c *Conn) deadline() time.Time { return time.Now().Add(c.Timeout) }

// receive reads the next message from the stream.
func (c *Conn) receive(deadline time.Time) (*Message, error) {
	for {
		m, err := c.take()
		if m != nil || err != nil {
			return m, err
		}
		if err := c.read(deadline); err != nil {
			return nil, err
		}
	}
}

// take makes a message of what has been read; nil when it is not all there.
func (c *Conn) take() (*Message, error) {
	if len(c.buf) < wire.FixedHeader {
		return nil, nil
	}
	header, total, err := wire.Frame(c.buf)
	if err != nil || len(c.buf) < total {
		return nil, err
	}
	own := bytes.Clone(c.buf[:total])
	c.buf = c.buf[total:]
	m := &Message{Body: own[header:]}
	if err := m.Parse(own[:header]); err != nil {
		return nil, err
	}
	if err := m.CheckBody(m.Body); err != nil {
		return nil, err
	}
	n := int(m.UnixFDs)
	if n > len(c.fds) {
		return nil, fmt.Errorf("a message announces %d descriptors, and %d have come", n, len(c.fds))
	}
	m.FDs, c.fds = c.fds[:n:n], c.fds[n:]
	return m, nil
}

// maxFDs is how many descriptors the kernel takes with one write.
const maxFDs = 253

// read appends what the stream has to buf.
func (c *Conn) read(deadline time.Time) error {
	if err := c.net.SetReadDeadline(deadline); err != nil {
		return err
	}
	c.buf = slices.Grow(c.buf, 16<<10)
	room := c.buf[len(c.buf):cap(c.buf)]
	socket, ok := c.net.(*net.UnixConn)
	if !ok {
		n, err := c.net.Read(room)
		c.buf = c.buf[:len(c.buf)+n]
		return err
	}
	rights := make([]byte, unix.CmsgSpace(4*maxFDs))
	n, r, flags, _, err := socket.ReadMsgUnix(room, rights)
	if err != nil {
		return err
	}
	c.buf = c.buf[:len(c.buf)+n]
	if r > 0 {
		if err := c.keepFDs(rights[:r]); err != nil {
			return err
		}
	}
	switch {
	case flags&unix.MSG_CTRUNC != 0:
		return errors.New("descriptors were lost: too many files are open")
	case n == 0:
		return io.EOF
	}
	return nil
}

func (c *Conn) keepFDs(rights []byte) error {
	parsed, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return os.NewSyscallError("recvmsg", err)
	}
	for i := range parsed {
		fds, err := unix.ParseUnixRights(&parsed[i])
		if err != nil {
			return os.NewSyscallError("recvmsg", err)
		}
		c.fds = append(c.fds, fds...)
	}
	return nil
}
