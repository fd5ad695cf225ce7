package bus

import (
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/rawio"
)

// A reason is why a connection ended, as it is counted.
type reason uint8

const (
	reasonClosed  reason = iota // it hung up
	reasonGone                  // its socket failed
	reasonInvalid               // it broke the protocol
	reasonAuth                  // it did not authenticate
	reasonPolicy                // it may not connect
	reasonLate                  // it took too long to authenticate, or to send a message for its descriptors
	reasonStalled               // it did not read what it was sent
	reasonQuota                 // its message is more than its user may have in the bus
	reasonStop                  // the bus stops
	reasonFault                 // the bus has a fault
	reasons
)

// Reasons are the names of all reasons for which connections end, as they are
// counted in [Stats].
var Reasons = [reasons]string{"closed", "gone", "invalid", "auth", "policy", "late", "stalled", "quota", "stop", "fault"}

// drop ends a peer. Nothing more is read from it or sent to it; it is buried
// when what is being done is done.
func (b *Bus) drop(p *Peer, r reason, why error) {
	if p.state == gone {
		return
	}
	p.state = gone
	b.peers.leaving = append(b.peers.leaving, p)
	b.stats.Ended[r]++
	switch r {
	case reasonClosed, reasonStop:
		return
	case reasonGone:
		if errors.Is(why, unix.ECONNRESET) || errors.Is(why, unix.EPIPE) {
			return
		}
	}
	b.log.LogAttrs(context.Background(), slog.LevelWarn, "connection ended by the bus", slog.String("reason", Reasons[r]), slog.Any("err", why), slog.Any("peer", p))
}

// bury sees off everybody who has left: others are told in the order in which
// it matters, names first.
func (b *Bus) bury() {
	for len(b.peers.leaving) > 0 {
		p := b.peers.leaving[0]
		b.peers.leaving = b.peers.leaving[1:]
		b.buryOne(p)
	}
	b.peers.leaving = nil
	b.resume()
}

func (b *Bus) buryOne(p *Peer) {
	b.peers.byFD[p.fd] = nil
	b.matching.rules.RemoveAll(p)
	b.matching.monitors.RemoveAll(p)
	b.releaseNames(p, true)
	if p.name != "" { // nobody will ever have it again
		b.matching.rules.Forget(p.name)
		b.matching.monitors.Forget(p.name)
	}
	b.forgetReplies(p)
	b.forgetStarts(p)
	b.forgetReloads(p)
	b.discard(&p.out)
	b.cancel(&p.late)
	if p.in.buf != nil {
		b.memory.buffers.put(p.in.buf)
	}
	if p.in.big != nil {
		p.user.incoming -= len(p.in.big.data)
		b.releaseBody(p.in.big)
	}
	waiting := p.in.fds
	b.hold(p, nil)
	closeAll(waiting)
	p.in = inbound{}
	b.closeSocket(p)
	switch {
	case p.name == "":
		b.accepting.incomplete--
		b.countIncomplete()
	default:
		p.user.connections--
		b.peers.completed--
	}
	if p.user != nil {
		b.leave(p.user)
	}
	b.fdFreed()
}

// end stops the bus: what is still to be sent is given to the sockets as far
// as they take it.
func (b *Bus) end() {
	b.loop.stopping = true
	b.deliver()
	b.posted.close()
	b.runPosted()
	b.deliver()
	for _, p := range b.peers.byFD {
		if p != nil && p.state != gone {
			b.drop(p, reasonStop, nil)
		}
	}
	for _, p := range b.peers.leaving { // nobody is left who would have to be told
		b.discard(&p.out)
		closeAll(p.in.fds)
		rawio.Close(p.fd)
	}
	b.endUnread()
	for _, l := range b.accepting.listeners {
		if err := l.Close(); err != nil {
			b.log.Warn("socket not removed", slog.Any("err", err))
		}
	}
	b.posted.free()
	b.loop.poll.Close()
}
