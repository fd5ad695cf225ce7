package client

import "quartet/services/busd/internal/wire"

// Driver calls a method of the interface org.freedesktop.DBus of the bus.
func (c *Conn) Driver(member, signature string, body Write) (*Message, error) {
	return c.Call(wire.Header{Path: wire.BusPath, Interface: wire.BusName, Member: member, Destination: wire.BusName,
		Signature: signature}, body)
}

// RequestName asks for a name and returns the bus's answer: 1 owner, 2 queued,
// 3 somebody else's, 4 ours already.
func (c *Conn) RequestName(name string, flags uint32) (uint32, error) {
	return c.number("RequestName", "su", func(e *wire.Encoder) {
		e.String(name)
		e.Uint32(flags)
	})
}

// ReleaseName gives a name back and returns the bus's answer: 1 released, 2 no
// such name, 3 not ours.
func (c *Conn) ReleaseName(name string) (uint32, error) {
	return c.number("ReleaseName", "s", text(name))
}

// AddMatch asks for the signals that a rule describes.
func (c *Conn) AddMatch(rule string) error {
	_, err := c.Driver("AddMatch", "s", text(rule))
	return err
}

// RemoveMatch takes one such rule back.
func (c *Conn) RemoveMatch(rule string) error {
	_, err := c.Driver("RemoveMatch", "s", text(rule))
	return err
}

// Owner is the unique name that owns a name.
func (c *Conn) Owner(name string) (string, error) {
	reply, err := c.Driver("GetNameOwner", "s", text(name))
	if err != nil {
		return "", err
	}
	values := reply.Values()
	owner := values.String()
	return owner, values.Err()
}

// Settle returns everything that came before the bus answered a question: all
// that follows from what was sent before, on this connection or on others that
// have settled.
func (c *Conn) Settle() ([]*Message, error) {
	_, err := c.Driver("GetId", "", nil)
	return c.Waiting(), err
}

func (c *Conn) number(member, signature string, body Write) (uint32, error) {
	reply, err := c.Driver(member, signature, body)
	if err != nil {
		return 0, err
	}
	values := reply.Values()
	n := values.Uint32()
	return n, values.Err()
}

func text(s string) Write { return func(e *wire.Encoder) { e.String(s) } }
