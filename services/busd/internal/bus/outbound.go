package bus

import (
	"context"
	"log/slog"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/rawio"
)

// A packet is a message on its way to a peer, within the turn that routed it.
// The same bytes serve everybody who gets it.
type packet struct {
	at, n int    // in the turn's arena: all of it, or its header
	big   *body  // the rest of a big one
	fds   *fdSet // nil for most
	payer *user  // whose quota it counts against should it have to wait

	charged bool // with the descriptors, which wait in any case
}

func (k *packet) size() int {
	if k.big != nil {
		return k.n + len(k.big.bytes())
	}
	return k.n
}

// sending is what a turn has routed.
type sending struct {
	arena  []byte        // headers and bodies, but those of big messages
	dirty  []*Peer       // have packets to be sent
	to     *Peer         // one of them, while they are
	pieces []rawio.Piece // of one call
}

// continues says whether a packet lies right behind another, so that both are one.
func (k *packet) continues(last *packet) bool {
	return k.big == nil && k.fds == nil && last.big == nil && last.fds == nil && last.payer == k.payer && last.at+last.n == k.at
}

// outbound is what a peer is still to be sent.
type outbound struct {
	turn      []packet // routed in this turn
	turnBytes int

	// What the socket did not take. It is bounded by max_outgoing_bytes and by
	// the quota of whoever asked for it.
	waiting  []chunk
	bytes    int    // in waiting
	fds      int    // in waiting and in turn
	position uint64 // bytes that the socket took, ever
	debts    []debt

	// Descriptors that the socket took, and nobody has received; see unread.
	lent   []debt
	listed bool // there
	held   bool // it has left, and its socket is kept

	// A mark is the end of what waited at some moment. It has to be reached in
	// time, however much came on top since; a trickle is not progress.
	mark  uint64
	stall timer

	dirty bool
	shut  bool // the socket takes nothing more
}

// A chunk is a stretch of waiting bytes.
type chunk struct {
	data []byte // a buffer of ours, unless big is set
	from int    // where what is left of it begins
	big  *body
	fds  *fdSet // go with the first byte
}

// A debt is what somebody's quota is charged with until the stream has got
// beyond a position.
type debt struct {
	until uint64
	bytes int
	fds   int
	payer *user
}

// queue gives a peer a packet; flush sends it. Whoever pays for it has been
// asked by hasRoom.
func (b *Bus) queue(p *Peer, k packet) {
	o := &p.out
	if o.shut {
		return
	}
	if l := len(o.turn); l > 0 && k.continues(&o.turn[l-1]) {
		o.turn[l-1].n += k.n
	} else {
		if k.fds != nil {
			k.fds.refs++
			o.fds += len(k.fds.fds)
			if k.charged = k.payer.take(0, len(k.fds.fds)); k.charged {
				k.payer.uses++
			}
		}
		o.turn = append(o.turn, k)
		if k.big != nil {
			k.big.refs++
		}
	}
	o.turnBytes += k.size()
	b.stats.Delivered++
	if !o.dirty {
		o.dirty = true
		b.sending.dirty = append(b.sending.dirty, p)
	}
}

// flush sends every peer its share of the turn, each with one system call as
// far as the sockets take it, and empties the arena. The last goes first: what
// a call brings about for others is routed before its answer, and the caller
// waits for that.
func (b *Bus) flush() {
	for l := len(b.sending.dirty); l > 0; l-- {
		p := b.sending.dirty[l-1]
		p.out.dirty = false
		b.sending.to = p
		if p.state != gone {
			b.send(p)
		}
		b.sending.dirty = b.sending.dirty[:l-1]
		b.endShare(&p.out)
	}
	b.sending.to = nil
	b.sending.arena = b.sending.arena[:0]
	if cap(b.sending.arena) > 2*arenaSize { // somebody asked for a very long list
		b.sending.arena = make([]byte, 0, arenaSize+arenaSlack)
	}
}

// flushEarly flushes a turn that is full before it ends.
func (b *Bus) flushEarly() {
	t := b.aside()
	b.flush()
	if t != nil {
		b.clock.sending += b.clock.lap()
	}
}

// endShare ends what a peer's queue has had of the turn.
func (b *Bus) endShare(o *outbound) {
	for i := range o.turn {
		if k := &o.turn[i]; k.fds != nil {
			if k.charged {
				b.settle(&debt{fds: len(k.fds.fds), payer: k.payer})
			}
			o.fds -= len(k.fds.fds)
			b.releaseFDs(k.fds)
		}
		if k := &o.turn[i]; k.big != nil {
			b.releaseBody(k.big)
		}
		o.turn[i] = packet{}
	}
	o.turnBytes = 0
	if o.turn = o.turn[:0]; cap(o.turn) > 64 {
		o.turn = nil
	}
}

func (b *Bus) logTooManyRefs(p *Peer) {
	b.log.LogAttrs(context.Background(), slog.LevelWarn, "message dropped: its file descriptors are sockets nested too deeply, or more are sent and not received than this process may open (LimitNOFILE)", slog.Any("peer", p))
}

// send gives the socket the turn's packets, behind what waits already.
func (b *Bus) send(p *Peer) {
	left := p.out.turn
	for len(left) > 0 && len(p.out.waiting) == 0 {
		end, total := b.gather(left)
		n, err := b.loop.raw.Send(p.fd, b.sending.pieces, left[0].descriptors())
		switch {
		case err == nil:
		case err == rawio.ErrAgain:
			n = 0
		case err == unix.ETOOMANYREFS:
			// Sockets inside sockets, deeper than the kernel allows. It is the
			// message's fault, not the recipient's (CVE-2014-3532). The kernel says
			// the same where those that it was given and nobody has read yet are
			// more than this process may open.
			b.logTooManyRefs(p)
			left = left[1:]
			continue
		default:
			b.unsendable(p, err)
			return
		}
		p.out.position += uint64(n)
		b.stats.SentBytes += uint64(n)
		b.stats.Sends++
		if n > 0 { // descriptors go with the first byte
			b.lend(p, &left[0], p.out.position-uint64(n)+1)
		}
		if n < total {
			b.keep(p, left[:end], n)
		}
		left = left[end:]
	}
	if len(left) > 0 {
		b.keep(p, left, 0)
	}
}

// unsendable ends a peer whose socket takes nothing more. If it has hung up,
// what it had sent before is still there to be handled, so it is only sent
// nothing from here on: its end is read behind that.
func (b *Bus) unsendable(p *Peer, err error) {
	if err != unix.EPIPE && err != unix.ECONNRESET {
		b.drop(p, reasonGone, err)
		return
	}
	p.out.shut = true
	b.discard(&p.out)
	b.setEvents(p)
}

func (k *packet) descriptors() []int {
	if k.fds == nil {
		return nil
	}
	return k.fds.fds
}

// gather puts as many packets as go into one call into pieces: descriptors go
// with the first byte, so a packet that has some begins a call.
func (b *Bus) gather(packets []packet) (end, total int) {
	b.sending.pieces = b.sending.pieces[:0]
	for i := range packets {
		k := &packets[i]
		if i > 0 && k.fds != nil || len(b.sending.pieces)+2 > rawio.MaxPieces {
			return i, total
		}
		b.sending.pieces = append(b.sending.pieces, b.sending.arena[k.at:k.at+k.n])
		if k.big != nil {
			b.sending.pieces = append(b.sending.pieces, k.big.bytes())
		}
		total += k.size()
	}
	return len(packets), total
}
