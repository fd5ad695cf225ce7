package client

import (
	"strings"

	"quartet/services/busd/internal/wire"
)

// Error is an error that was the reply to a call.
type Error struct {
	Name string // such as org.freedesktop.DBus.Error.NameHasNoOwner
	Text string // the first argument, when that is a string
}

func (e *Error) Error() string {
	if e.Text == "" {
		return e.Name
	}
	return e.Name + ": " + e.Text
}

// Call sends a call and waits for its reply. Other messages that come first
// are kept for Next and Waiting. An error reply is an *Error.
func (c *Conn) Call(h wire.Header, body Write, fds ...int) (*Message, error) {
	h.Type = wire.MethodCall
	serial, err := c.Send(h, body, fds...)
	if err != nil {
		return nil, err
	}
	return c.await(serial)
}

// await waits for the reply to a serial.
func (c *Conn) await(serial uint32) (*Message, error) {
	deadline := c.deadline()
	for {
		m, err := c.receive(deadline)
		if err != nil {
			return nil, err
		}
		if m.ReplySerial != serial || m.Type != wire.MethodReturn && m.Type != wire.ErrorReply {
			c.waiting = append(c.waiting, m)
			continue
		}
		if m.Type == wire.MethodReturn {
			return m, nil
		}
		return nil, failure(m)
	}
}

func failure(m *Message) *Error {
	e := &Error{Name: m.ErrorName}
	if strings.HasPrefix(m.Signature, "s") {
		values := m.Values()
		e.Text = values.String()
	}
	m.CloseFDs()
	return e
}
