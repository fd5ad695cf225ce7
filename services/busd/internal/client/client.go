// Package client is a small D-Bus client that hides nothing: messages are
// header fields, body bytes and descriptors, in the order in which they come,
// and any bytes can be sent. It is for `busd top` and for tests, which need to
// say what no well-behaved library says.
//
//	client.go     Dial, and a connection's life
//	transport.go  where an address leads
//	handshake.go  authentication, pipelined
//	receive.go    messages from the stream, send.go onto it
//	call.go       calls and their replies
//	driver.go     the calls to the bus that everybody makes
//
// A Conn is used by one goroutine at a time and starts none; only Close may be
// called beside it. Everything waits for the Conn's Timeout at most. It is no
// general client: no proxies, no rules kept for the caller, no reconnection.
package client

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/address"
)

// DefaultTimeout is how long an operation may take where nothing else is said.
const DefaultTimeout = 10 * time.Second

// Options say how to connect. The zero value is EXTERNAL, with the user that
// the process runs as, and without descriptors.
type Options struct {
	Timeout   time.Duration // of each operation; 0 is DefaultTimeout
	FDs       bool          // negotiate the passing of descriptors
	Anonymous bool          // ANONYMOUS in place of EXTERNAL
}

// Conn is a connection to a bus.
type Conn struct {
	// Timeout bounds each operation from its start. It may be changed between
	// two.
	Timeout time.Duration

	// Name is the unique name, once Hello was answered.
	Name string
	// GUID is the server's, once authentication has succeeded.
	GUID string

	net    net.Conn
	serial uint32

	buf     []byte     // read and not yet taken
	fds     []int      // received and not yet taken, oldest first
	waiting []*Message // taken while something else was awaited
}

// Dial connects to the first address of the list that takes connections,
// authenticates, and says Hello, all in one write.
func Dial(list string, o Options) (*Conn, error) {
	c, err := Connect(list, o.Timeout)
	if err != nil {
		return nil, err
	}
	if err := c.LogIn(o); err != nil {
		c.Close()
		return nil, fmt.Errorf("connect to %s: %w", list, err)
	}
	return c, nil
}

// Connect does no more than to open the connection to the first address of the
// list that takes one, for callers who authenticate later, by hand or not at all.
// A timeout of 0 is DefaultTimeout.
func Connect(list string, timeout time.Duration) (*Conn, error) {
	all, err := address.Parse(list)
	if err != nil {
		return nil, err
	}
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	var failures []error
	for _, a := range all {
		conn, err := open(a, timeout)
		if err == nil {
			return &Conn{Timeout: timeout, net: conn}, nil
		}
		failures = append(failures, fmt.Errorf("connect to %s: %w", a, err))
	}
	return nil, errors.Join(failures...)
}

// Shutdown ends one direction of the connection or both, which stays open, as
// shutdown(2) does with SHUT_RD, SHUT_WR or SHUT_RDWR.
func (c *Conn) Shutdown(how int) error {
	socket, ok := c.net.(syscall.Conn)
	if !ok {
		return errors.New("this transport has no directions")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.Shutdown(int(fd), how) })
	return errors.Join(err, failed)
}

// Close ends the connection and closes the descriptors of messages that nobody
// took.
func (c *Conn) Close() error {
	err := c.net.Close()
	closeFDs(c.fds)
	c.fds = nil
	for _, m := range c.waiting {
		m.CloseFDs()
	}
	c.waiting = nil
	return err
}
