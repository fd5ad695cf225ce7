package bus

import (
	"time"

	"quartet/services/busd/internal/rawio"
)

// lookEvery is how often it is looked whether descriptors have been received,
// while nothing else asks.
const lookEvery = time.Second

// unread knows to whom descriptors were sent that nobody may have received yet.
// The kernel counts those against the bus, all together and up to
// RLIMIT_NOFILE; beyond it refuses descriptors to everybody (ETOOMANYREFS). So
// they stay on the account of whoever asked for them until they are received.
type unread struct {
	peers []*Peer
	debts int // of them all
	look  timer
	turn  uint64 // in which all were looked at last
}

// lend charges payer for n descriptors that p's socket has just taken, until
// what it sends is received up to a position.
func (b *Bus) lend(p *Peer, payer *user, n int, until uint64) {
	if payer.uses == 0 { // as in charge
		payer = b.join(payer.uid, payer.known)
		defer b.leave(payer)
	}
	if !payer.take(0, n) {
		b.stats.OverLimit++
		return
	}
	payer.uses++
	b.lent(p, debt{until: until, fds: n, payer: payer})
}

// lent is for descriptors that are charged already.
func (b *Bus) lent(p *Peer, d debt) {
	u := &b.unread
	if u.debts == 0 { // who is still listed has left or has received all
		for _, other := range u.peers {
			other.out.listed = false
		}
		clear(u.peers)
		u.peers = u.peers[:0]
	}
	if !p.out.listed {
		p.out.listed = true
		u.peers = append(u.peers, p)
	}
	p.out.lent = append(p.out.lent, d)
	u.debts++
	if u.look.index == 0 {
		if u.look.fire == nil {
			u.look.fire = b.lookAll
		}
		b.set(&u.look, lookEvery)
	}
}

// lookAll gives back what was received by anybody.
func (b *Bus) lookAll() {
	u := &b.unread
	u.turn = b.turn
	kept := u.peers[:0]
	for _, p := range u.peers {
		b.look(p)
		if p.out.listed = len(p.out.lent) > 0; p.out.listed {
			kept = append(kept, p)
		}
	}
	clear(u.peers[len(kept):])
	u.peers = kept
	if u.debts > 0 {
		b.set(&u.look, lookEvery)
	}
}

// look gives back what p has received. What its socket still holds is no more
// than the kernel says, which counts its own overhead too.
func (b *Bus) look(p *Peer) {
	if len(p.out.lent) == 0 {
		return
	}
	left, err := rawio.Unread(p.fd)
	if err != nil {
		return
	}
	n := 0
	for n < len(p.out.lent) && p.out.lent[n].until+uint64(left) <= p.out.position {
		n++
	}
	b.giveBack(&p.out, n)
}

// giveBack settles the first n of what a peer was lent.
func (b *Bus) giveBack(o *outbound, n int) {
	for i := range n {
		b.settle(&o.lent[i])
	}
	o.lent = shift(o.lent, n)
	if b.unread.debts -= n; b.unread.debts == 0 {
		b.cancel(&b.unread.look)
	}
}

// hasRoom says whether a user may have this wait for a peer as well. Whoever
// keeps up gets its messages in any case, for nothing of them is expected to
// wait, but for big ones, which are more than a socket takes, and descriptors,
// which wait in the socket.
func (b *Bus) hasRoom(payer *user, p *Peer, bytes, fds int) bool {
	o := &p.out
	if len(o.waiting) > 0 || bytes >= bigMessage {
		bytes += o.turnBytes
	} else if bytes = 0; fds == 0 {
		return true
	} else {
		fds += o.fds // of this turn, which are charged when they are sent
	}
	if payer.could(bytes, fds) {
		return true
	}
	if fds == 0 || b.unread.turn == b.turn {
		return false
	}
	b.lookAll()
	return payer.could(bytes, fds)
}
