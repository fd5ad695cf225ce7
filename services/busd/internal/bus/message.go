package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"quartet/services/busd/internal/wire"
)

// BusName is the bus's own name.
const BusName = "org.freedesktop.DBus"

var (
	errNotHello  = errors.New("it sent a message before Hello")
	errTooFewFDs = errors.New("its message announces more file descriptors than came with it")
	errNoRoom    = errors.New("its message would be longer than messages may be with its name in it")
	errMonitor   = errors.New("it is a monitor, and sent a message")
)

// message handles one whole message of a peer: its header, padded, and its
// body, which is a big one's where big is set.
func (b *Bus) message(p *Peer, header, body []byte, big *body) {
	m := &b.msg
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
	b.body, b.big, b.made = body, big, false
	b.stats.Messages++
	switch {
	case p.state == monitoring:
		b.drop(p, reasonInvalid, errMonitor)
	case p.state == nameless && !isHello(m):
		b.beforeHello(p, m)
	default:
		b.route(p, m)
	}
	if b.fds != nil {
		b.releaseFDs(b.fds)
		b.fds = nil
	}
	b.body, b.big = nil, nil
	b.resume()
}

// claimFDs takes the message's descriptors off those that have come: the
// oldest belong to it.
func (b *Bus) claimFDs(p *Peer, m *wire.Message) bool {
	n := int(m.UnixFDs)
	if n == 0 {
		return true
	}
	if limit := b.settings.Limits.MaxMessageUnixFDs; int64(n) > int64(limit) {
		b.drop(p, reasonInvalid, fmt.Errorf("its message has %d file descriptors, and max_message_unix_fds is %d", n, limit))
		return false
	}
	if n > len(p.in.fds) {
		b.drop(p, reasonInvalid, errTooFewFDs)
		return false
	}
	b.fds = b.newFDs(p.in.fds[:n])
	b.hold(p, p.in.fds[n:])
	b.awaitMessage(p)
	return true
}

func isHello(m *wire.Message) bool {
	return m.Type == wire.MethodCall && m.Destination == BusName && m.Member == "Hello" && (m.Interface == "" || m.Interface == BusName)
}

// beforeHello answers whoever calls the bus itself, so that the mistake can be
// seen, and ends the connection of everybody else.
func (b *Bus) beforeHello(p *Peer, m *wire.Message) {
	if b.watched() {
		b.captureCurrent(p, nil)
	}
	if m.Destination == BusName {
		b.refuse(p, refused(accessDenied, "Client tried to send a message other than Hello without being registered"))
		return
	}
	b.deliver() // what it was told before goes out before the connection ends
	b.drop(p, reasonInvalid, errNotHello)
}

// invalid ends a peer whose message breaks the rules. Where its framing is
// sound the peer can be told before, if the operator wants that.
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
	if b.made {
		return b.current
	}
	at := len(b.arena)
	b.arena = b.msg.AppendHeader(b.arena, b.sender(p))
	if b.big == nil {
		b.arena = append(b.arena, b.body...)
	}
	b.current = packet{at: at, n: len(b.arena) - at, big: b.big, fds: b.fds}
	b.made = true
	return b.current
}

func (b *Bus) logPeer(p *Peer, text string, attrs ...slog.Attr) {
	b.log.LogAttrs(context.Background(), slog.LevelWarn, text, append(attrs, slog.Any("peer", p))...)
}
