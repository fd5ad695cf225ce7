package policy

import (
	"strings"

	"quartet/services/busd/internal/wire"
)

// Message is what rules can ask of a message. Absent fields are empty.
type Message struct {
	Type                                            wire.Type
	Interface, Member, Path, ErrorName, Destination string
	UnixFDs                                         uint32
	// RequestedReply is true for a reply or error that answers a call which
	// still waits for one. It is ignored for other types.
	RequestedReply bool
}

// Names is the other side of a message as rules see it: all names it owns or
// waits for in a queue, its unique one too, each once. Three cases have no
// connection: the bus itself is Names{wire.BusName}; a service yet to be started is
// Names{its name}; with nobody on the other side it is nil. A question costs
// a look-up for each name, so the caller keeps the slice and changes it with
// the names instead of making it for each message.
type Names []string

// Client is the policy for connections of one identity. It is immutable.
type Client struct {
	send, receive         [wire.Signal + 1]table // by message type; 0 for types unknown to rules
	own                   []*Rule                // last first
	sendsAll, receivesAll bool
}

func newClient(rules []*Rule) *Client {
	c := &Client{}
	for order := len(rules) - 1; order >= 0; order-- {
		r := rules[order]
		switch r.kind {
		case own:
			c.own = append(c.own, r)
		case send:
			add(&c.send, entry{r, order})
		case receive:
			add(&c.receive, entry{r, order})
		}
	}
	c.sendsAll, c.receivesAll = permitsAll(&c.send), permitsAll(&c.receive)
	return c
}

// SendsAll is true when CanSend would allow every message to everybody,
// unrequested replies too, so that the caller need not ask.
func (c *Client) SendsAll() bool { return c.sendsAll }

// ReceivesAll is true when CanReceive would allow every message from
// everybody, eavesdropped ones and unrequested replies too.
func (c *Client) ReceivesAll() bool { return c.receivesAll }

// CanSend decides whether a connection of this identity may send m to the
// receiver. A broadcast is asked for each receiver, and by a caller that
// wants to know at all with nil.
func (c *Client) CanSend(m *Message, receiver Names) Verdict {
	return c.send[m.slot()].decide(question{m: m, names: receiver})
}

// CanReceive decides whether a connection of this identity may receive m from
// the sender. It eavesdrops when m has a destination and that is not it.
func (c *Client) CanReceive(m *Message, sender Names, eavesdropping bool) Verdict {
	return c.receive[m.slot()].decide(question{m: m, names: sender, receiving: true, eavesdropping: eavesdropping})
}

// CanOwn decides whether a connection of this identity may ask for a
// well-known name.
func (c *Client) CanOwn(name string) Verdict {
	var v Verdict
	for _, r := range c.own {
		if r.name != "" && r.name != name && !(r.prefix && below(name, r.name)) {
			continue
		}
		if v.Rule == nil {
			v.Allow, v.Log, v.Rule = r.Allow, r.match.log, r
		}
		v.Matched++
	}
	return v
}

// slot is where the tables of a message's type are.
func (m *Message) slot() wire.Type {
	if m.Type > wire.Signal {
		return 0
	}
	return m.Type
}

// below is true for a name under prefix: "a.b.c" is below "a.b", "a.bc" is not.
func below(name, prefix string) bool {
	return len(name) > len(prefix) && name[len(prefix)] == '.' && strings.HasPrefix(name, prefix)
}
