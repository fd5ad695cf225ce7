package load

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// socketPath is where an address of a bus leads: the first that is unix.
func socketPath(address string) (string, error) {
	for one := range strings.SplitSeq(address, ";") {
		rest, ok := strings.CutPrefix(one, "unix:")
		if !ok {
			continue
		}
		for pair := range strings.SplitSeq(rest, ",") {
			switch key, value, _ := strings.Cut(pair, "="); key {
			case "path":
				return value, nil
			case "abstract":
				return "@" + value, nil // as x/sys spells it
			}
		}
	}
	return "", fmt.Errorf("%q has no unix socket in it", address)
}

// conn is a client of the bus. One goroutine reads it and one writes it.
type conn struct {
	fd   int
	name string // its unique name

	serial  uint32 // of the last message written
	watched bool   // by a crowd: reads do not wait

	buf    []byte
	lo, hi int // what was read and not taken
	long   frame
	skip   int // bytes of long that are still to come, and thrown away

	control []byte // room for descriptors; nil where none were negotiated
	fds     int    // descriptors that came, and were closed
}

// Sizes of read buffers: of what mostly writes, and of what mostly reads.
const (
	little = 4 << 10
	much   = 128 << 10
)

// open begins a connection: the handshake and Hello are on their way when it
// returns.
func (r *run) open(buffer int, withFDs bool) (*conn, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	c := &conn{fd: fd, buf: make([]byte, buffer)}
	wait := unix.NsecToTimeval(patience.Nanoseconds())
	err = errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait),
		unix.Connect(fd, &unix.SockaddrUnix{Name: r.path}))
	if err != nil {
		c.close()
		return nil, fmt.Errorf("connect to %s: %w", r.path, err)
	}
	hello := "\x00AUTH EXTERNAL " + hex.EncodeToString([]byte(strconv.Itoa(os.Getuid()))) + "\r\n"
	if withFDs {
		hello += "NEGOTIATE_UNIX_FD\r\n"
		c.control = make([]byte, unix.CmsgSpace(4*16))
	}
	c.serial = 1
	if err := c.write(append([]byte(hello+"BEGIN\r\n"), toBus("Hello", "", nil).bytes()...)); err != nil {
		c.close()
		return nil, fmt.Errorf("say hello: %w", err)
	}
	return c, nil
}

// finish waits for what open began.
func (c *conn) finish() error {
	lines := 1
	if c.control != nil {
		lines = 2
	}
	for {
		got := c.buf[c.lo:c.hi]
		end := bytes.Index(got, []byte("\r\n"))
		if end < 0 {
			if err := c.fill(); err != nil {
				return fmt.Errorf("authenticate: %w", err)
			}
			continue
		}
		line := string(got[:end])
		if !strings.HasPrefix(line, "OK ") && line != "AGREE_UNIX_FD" {
			return fmt.Errorf("authenticate: the bus says %q", line)
		}
		c.lo += end + 2
		if lines--; lines == 0 {
			break
		}
	}
	reply, err := c.reply(c.serial)
	if err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if b := reply.bodyBytes(); len(b) > 5 {
		c.name = string(b[4 : len(b)-1])
		return nil
	}
	return errors.New("hello: the bus gave no name")
}

// dial is open and finish.
func (r *run) dial(buffer int, withFDs bool) (*conn, error) {
	c, err := r.open(buffer, withFDs)
	if err != nil {
		return nil, err
	}
	if err := c.finish(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *conn) close() { unix.Close(c.fd) }

// hangUp lets whoever reads or writes c return. It may be called beside them.
func (c *conn) hangUp() { _ = unix.Shutdown(c.fd, unix.SHUT_RDWR) }

// write writes all of b, and waits where it must.
func (c *conn) write(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(c.fd, b)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && c.watched:
			if err := c.await(unix.POLLOUT); err != nil {
				return fmt.Errorf("write: %w", err)
			}
			continue
		case err != nil:
			return fmt.Errorf("write: %w", late(err))
		}
		b = b[n:]
	}
	return nil
}

// writeFD writes a message with one descriptor.
func (c *conn) writeFD(b []byte, rights []byte) error {
	n, err := unix.SendmsgN(c.fd, b, rights, nil, 0)
	if err != nil {
		return fmt.Errorf("write with a descriptor: %w", late(err))
	}
	return c.write(b[n:])
}

// await waits until there is something to read, or room to write, as clients of
// every D-Bus library do. One that blocked in the read itself would be woken by
// the kernel, for nothing, whenever the bus takes what it has written.
func (c *conn) await(events int16) error {
	ready := []unix.PollFd{{Fd: int32(c.fd), Events: events}}
	for {
		n, err := unix.Poll(ready, int(patience.Milliseconds()))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return errLate
		}
		return nil
	}
}

// send gives a message the next serial and writes it.
func (c *conn) send(m []byte) error {
	c.serial++
	setSerial(m, c.serial)
	return c.write(m)
}

// errLate ends a run on a bus that has stopped.
var errLate = fmt.Errorf("nothing moved for %v", patience)

// errGone ends a run on a bus that has hung up.
var errGone = errors.New("the bus has hung up")

// late says of a socket's time-out what it means.
func late(err error) error {
	if err == unix.EAGAIN {
		return errLate
	}
	return err
}

// errEmpty is what fill returns on a watched connection when nothing is there.
var errEmpty = errors.New("nothing to read")

// fill reads once, and waits for something to read when c is not watched.
func (c *conn) fill() error {
	if c.lo == c.hi {
		c.lo, c.hi = 0, 0
	} else if c.hi == len(c.buf) {
		c.hi = copy(c.buf, c.buf[c.lo:c.hi])
		c.lo = 0
	}
	for {
		if !c.watched {
			if err := c.await(unix.POLLIN); err != nil {
				return fmt.Errorf("read: %w", err)
			}
		}
		n, err := c.receive(c.buf[c.hi:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN && c.watched:
			return errEmpty
		case err != nil:
			return fmt.Errorf("read: %w", late(err))
		case n == 0:
			return errGone
		}
		c.hi += n
		return nil
	}
}

func (c *conn) receive(b []byte) (int, error) {
	if c.control == nil {
		return unix.Read(c.fd, b)
	}
	n, rights, _, _, err := unix.Recvmsg(c.fd, b, c.control, unix.MSG_CMSG_CLOEXEC)
	if err != nil || rights == 0 {
		return n, err
	}
	parsed, err := unix.ParseSocketControlMessage(c.control[:rights])
	if err != nil {
		return 0, err
	}
	for i := range parsed {
		fds, err := unix.ParseUnixRights(&parsed[i])
		if err != nil {
			return 0, err
		}
		for _, fd := range fds {
			unix.Close(fd)
			c.fds++
		}
	}
	return n, nil
}

// take is the next whole message of what was read; false when there is none.
// Of a message that is longer than the buffer only the header is kept.
func (c *conn) take() (frame, bool, error) {
	if c.skip > 0 {
		n := min(c.skip, c.hi-c.lo)
		c.lo += n
		if c.skip -= n; c.skip > 0 {
			return frame{}, false, nil
		}
		return c.long, true, nil
	}
	b := c.buf[c.lo:c.hi]
	if len(b) < 16 {
		return frame{}, false, nil
	}
	header, total, err := extent(b)
	if err != nil {
		return frame{}, false, err
	}
	switch {
	case len(b) >= total:
		c.lo += total
		return frame{raw: b[:total], body: header, size: total}, true, nil
	case total > len(c.buf) && len(b) >= header:
		c.long = frame{raw: bytes.Clone(b[:header]), body: header, size: total}
		c.skip = total - len(b)
		c.lo = c.hi
	}
	return frame{}, false, nil
}

// next waits for a message.
func (c *conn) next() (frame, error) {
	for {
		f, ok, err := c.take()
		if ok || err != nil {
			return f, err
		}
		if err := c.fill(); err != nil {
			return frame{}, err
		}
	}
}

// reply waits for the answer to a serial; what else comes is dropped.
func (c *conn) reply(serial uint32) (frame, error) {
	for {
		f, err := c.next()
		switch {
		case err != nil:
			return frame{}, err
		case f.kind() == typeReturn && f.replySerial() == serial:
			return f, nil
		case f.kind() == typeError && f.replySerial() == serial:
			return frame{}, f.failure()
		}
	}
}

// call writes a message and waits for its answer.
func (c *conn) call(m message) (frame, error) {
	if err := c.send(m.bytes()); err != nil {
		return frame{}, err
	}
	return c.reply(c.serial)
}

// addMatch asks the bus for a rule.
func (c *conn) addMatch(rule string) error {
	_, err := c.call(toBus("AddMatch", "s", appendString(nil, rule)))
	if err != nil {
		return fmt.Errorf("AddMatch %q: %w", rule, err)
	}
	return nil
}
