package client

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/wire"
)

// Write is how a body is written: it appends the values of the header's
// signature, in order. Nil is an empty body.
type Write func(*wire.Encoder)

// NextSerial takes a serial, for messages sent raw.
func (c *Conn) NextSerial() uint32 {
	c.serial++
	return c.serial
}

// Send sends a message and returns its serial, which is taken when the
// header has none. The number of descriptors is written into the header.
func (c *Conn) Send(h wire.Header, body Write, fds ...int) (serial uint32, err error) {
	if h.Serial == 0 {
		h.Serial = c.NextSerial()
	}
	h.UnixFDs = uint32(len(fds))
	return h.Serial, c.SendRaw(Marshal(h, body), fds...)
}

// Marshal is the bytes of a message as Send would send it; the header's serial
// and number of descriptors are the caller's.
func Marshal(h wire.Header, body Write) []byte {
	var e wire.Encoder
	e.Begin(h)
	if body != nil {
		body(&e)
	}
	e.End()
	return e.Buf
}

// SendRaw writes bytes as they are. Descriptors go with the first of them.
func (c *Conn) SendRaw(b []byte, fds ...int) error {
	if err := c.net.SetWriteDeadline(c.deadline()); err != nil {
		return err
	}
	if len(fds) > 0 {
		socket, ok := c.net.(*net.UnixConn)
		if !ok {
			return errors.New("this transport passes no descriptors")
		}
		n, _, err := socket.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	_, err := c.net.Write(b)
	return err
}

// Signal sends a signal.
func (c *Conn) Signal(path, iface, member, signature string, body Write) error {
	_, err := c.Send(wire.Header{Type: wire.Signal, Flags: wire.NoReplyExpected, Path: path, Interface: iface,
		Member: member, Signature: signature}, body)
	return err
}

// Reply answers a call.
func (c *Conn) Reply(to *Message, signature string, body Write, fds ...int) error {
	_, err := c.Send(wire.Header{Type: wire.MethodReturn, Flags: wire.NoReplyExpected, Destination: to.Sender,
		ReplySerial: to.Serial, Signature: signature}, body, fds...)
	return err
}

// Refuse answers a call with an error.
func (c *Conn) Refuse(to *Message, name, text string) error {
	_, err := c.Send(wire.Header{Type: wire.ErrorReply, Flags: wire.NoReplyExpected, Destination: to.Sender,
		ReplySerial: to.Serial, ErrorName: name, Signature: "s"}, func(e *wire.Encoder) { e.String(text) })
	return err
}
