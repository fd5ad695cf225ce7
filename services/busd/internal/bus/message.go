package bus

import (
	"errors"
	"fmt"

	"quartet/services/busd/internal/wire"
)

var (
	errNotHello  = errors.New("it sent a message before Hello")
	errTooFewFDs = errors.New("its message announces more file descriptors than came with it")
	errNoRoom    = errors.New("its message would be longer than messages may be with its name in it")
	errMonitor   = errors.New("it is a monitor, and sent a message")
)

// handled is the message that is handled.
type handled struct {
	msg      wire.Message
	body     []byte
	big      *body // where that is, if it is a big one
	fds      *fdSet
	stitched packet // what goes out, once somebody gets it
	made     bool   // that is there
}

// clear ends it. What msg has is used again by the next.
func (h *handled) clear() { h.body, h.big, h.fds, h.made = nil, nil, nil, false }

// message handles one whole message of a peer: its header, padded, and its
// body, which is a big one's where big is set.
func (b *Bus) message(p *Peer, header, body []byte, big *body) {
	m := &b.handled.msg
	if err := m.Parse(header); err != nil {
		b.invalid(p, nil, err)
		return
	}
	if err := m.CheckBody(body); err != nil {
		b.invalid(p, m, err)
		return
	}
	if big != nil && !m.Fits(b.sender(p)) {
		b.drop(p, reasonInvalid, errNoRoom)
		return
	}
	if !b.claimFDs(p, m) {
		return
	}
	b.handled.body, b.handled.big = body, big
	b.stats.Messages++
	switch {
	case p.state == monitoring:
		b.drop(p, reasonInvalid, errMonitor)
	case p.state == nameless && !isHello(m):
		b.beforeHello(p, m)
	default:
		b.route(p, m)
	}
	b.releaseFDs(b.handled.fds)
	b.handled.clear()
	b.resume()
}

// claimFDs takes the message's descriptors off those that have come: the
// oldest belong to it.
func (b *Bus) claimFDs(p *Peer, m *wire.Message) bool {
	n := int(m.UnixFDs)
	if n == 0 {
		return true
	}
	if limit := b.settings.Limits.MaxMessageUnixFDs; int64(n) > limit {
		b.drop(p, reasonInvalid, fmt.Errorf("its message has %d file descriptors, and max_message_unix_fds is %d", n, limit))
		return false
	}
	if n > len(p.in.fds) {
		b.drop(p, reasonInvalid, errTooFewFDs)
		return false
	}
	b.handled.fds = b.newFDs(p.in.fds[:n])
	b.hold(p, p.in.fds[n:])
	b.awaitMessage(p)
	return true
}

func isHello(m *wire.Message) bool {
	return m.Type == wire.MethodCall && m.Destination == wire.BusName && m.Member == "Hello" && (m.Interface == "" || m.Interface == wire.BusName)
}

// beforeHello answers whoever calls the bus itself, so that the mistake can be
// seen, and ends the connection of everybody else.
func (b *Bus) beforeHello(p *Peer, m *wire.Message) {
	if b.watched() {
		b.captureCurrent(p, nil)
	}
	if m.Destination == wire.BusName {
		b.refuse(p, refused(accessDenied, "Client tried to send a message other than Hello without being registered"))
		return
	}
	b.deliver() // what it was told before goes out before the connection ends
	b.drop(p, reasonInvalid, errNotHello)
}

// invalid ends a peer whose message breaks the rules. m is nil where already the
// header does. A call with a valid one can be answered before, if the operator
// wants that.
func (b *Bus) invalid(p *Peer, m *wire.Message, err error) {
	if b.opt.ReplyInvalid && m != nil && m.Type == wire.MethodCall {
		b.sendError(p, m.Serial, inconsistentMessage, err.Error())
		b.deliver()
	}
	b.drop(p, reasonInvalid, err)
}

// stitched is the message as the bus forwards it, with its sender's name, made
// once for all who get it.
func (b *Bus) stitched(p *Peer) packet {
	if b.handled.made {
		return b.handled.stitched
	}
	at := len(b.sending.arena)
	b.sending.arena = b.handled.msg.AppendHeader(b.sending.arena, b.sender(p))
	if b.handled.big == nil {
		b.sending.arena = append(b.sending.arena, b.handled.body...)
	}
	b.handled.stitched = packet{at: at, n: len(b.sending.arena) - at, big: b.handled.big, fds: b.handled.fds}
	b.handled.made = true
	return b.handled.stitched
}
