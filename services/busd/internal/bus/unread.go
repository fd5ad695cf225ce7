package bus

import (
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/rawio"
)

// It is looked whether descriptors have been received when an account is used
// up, after so many messages to one peer, and this often, less and less as long
// as they are not.
const (
	lookAfter   = 64
	lookEvery   = time.Second
	lookAtLeast = time.Minute
)

// unread knows to whom descriptors were sent that nobody may have received yet.
// The kernel counts those against the bus, all together and up to
// RLIMIT_NOFILE; beyond it refuses descriptors to everybody (ETOOMANYREFS). So
// they stay on the account of whoever asked for them until they are received.
// For as long the bus keeps the socket of a peer that has left: closing it would
// not take them out of the kernel, and nobody would know when they are gone.
type unread struct {
	peers []*Peer
	debts int // of them all
	look  timer
	every time.Duration // until the next look
	turn  uint64        // in which all were looked at last
}

// lend leaves the charge for descriptors that p's socket has just taken where
// it is until what it sends is received up to a position.
func (b *Bus) lend(p *Peer, k *packet, until uint64) {
	if !k.charged {
		return
	}
	k.charged = false
	b.lent(p, debt{until: until, fds: len(k.fds.fds), payer: k.payer})
}

// lent is for descriptors that are charged already.
func (b *Bus) lent(p *Peer, d debt) {
	u := &b.unread
	if !p.out.listed {
		p.out.listed = true
		u.peers = append(u.peers, p)
	}
	p.out.lent = append(p.out.lent, d)
	u.debts++
	if u.every != lookEvery || u.look.index == 0 { // looks have become rare, or there are none
		u.every = lookEvery
		if u.look.fire == nil {
			u.look.fire = b.lookRegularly
		}
		b.set(&u.look, lookEvery)
	}
	if len(p.out.lent)%lookAfter == 0 {
		b.look(p)
		b.nobodyLeft()
	}
}

// lookRegularly is what the timer does.
func (b *Bus) lookRegularly() {
	u := &b.unread
	before := u.debts
	b.lookAll()
	if u.debts == 0 {
		return
	}
	if u.debts == before {
		u.every = min(2*u.every, lookAtLeast)
	}
	b.set(&u.look, u.every)
}

// lookAll gives back what was received by anybody.
func (b *Bus) lookAll() {
	u := &b.unread
	u.turn = b.loop.turn
	kept := u.peers[:0]
	for _, p := range u.peers {
		b.look(p)
		if len(p.out.lent) > 0 {
			kept = append(kept, p)
			continue
		}
		p.out.listed = false
		if p.out.held {
			p.out.held = false
			rawio.Close(p.fd)
			b.fdFreed()
		}
	}
	clear(u.peers[len(kept):])
	u.peers = kept
	b.nobodyLeft()
}

// nobodyLeft forgets everybody when all was received.
func (b *Bus) nobodyLeft() {
	u := &b.unread
	if u.debts > 0 {
		return
	}
	b.cancel(&u.look)
	for _, p := range u.peers {
		p.out.listed = false
	}
	u.peers = nil
}

// look gives back what p has received. What its socket still holds is no more
// than the kernel says, which counts its own overhead too.
func (b *Bus) look(p *Peer) {
	o := &p.out
	if len(o.lent) == 0 {
		return
	}
	left, err := rawio.Unread(p.fd)
	if err != nil {
		return
	}
	n := 0
	for n < len(o.lent) && o.lent[n].until+uint64(left) <= o.position {
		b.settle(&o.lent[n])
		n++
	}
	o.lent = shift(o.lent, n)
	b.unread.debts -= n
}

// closeSocket closes the socket of a peer that leaves, or lets lookAll do it.
func (b *Bus) closeSocket(p *Peer) {
	if b.look(p); len(p.out.lent) == 0 {
		rawio.Close(p.fd) // and so nothing waits for it any more
		b.nobodyLeft()
		return
	}
	b.loop.poll.Remove(p.fd)
	_ = unix.Shutdown(p.fd, unix.SHUT_RDWR) // what it has not read it still may
	p.out.held = true
}

// endUnread closes what closeSocket did not.
func (b *Bus) endUnread() {
	for _, p := range b.unread.peers {
		if p.out.held {
			rawio.Close(p.fd)
		}
	}
}

// unread is how many descriptors its socket took and p may not have received.
func (p *Peer) unread() (n int) {
	for i := range p.out.lent {
		n += p.out.lent[i].fds
	}
	return n
}
