package bus

import (
	"fmt"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/rawio"
)

// keep moves packets, of which the socket has taken the first sent bytes, to
// what waits: small ones are copied out of the arena, big ones stay where they
// are. Whoever pays for them is charged.
func (b *Bus) keep(p *Peer, packets []packet, sent int) {
	began := len(p.out.waiting) == 0
	for i := range packets {
		k := &packets[i]
		left := k.size() - sent
		if left <= 0 {
			sent = -left
			continue
		}
		fds := k.fds
		if sent > 0 {
			fds = nil // they went with the first byte
		}
		b.charge(p, k, left)
		if sent < k.n {
			b.keepBytes(&p.out, b.sending.arena[k.at+sent:k.at+k.n], fds)
			sent = k.n
		}
		if k.big != nil {
			k.big.refs++
			p.out.waiting = append(p.out.waiting, chunk{data: k.big.bytes(), from: sent - k.n, big: k.big})
			p.out.bytes += len(k.big.bytes()) - (sent - k.n)
		}
		sent = 0
	}
	if began {
		b.setEvents(p)
		b.watchStall(p)
	}
}

// keepBytes copies data to the end of what waits.
func (b *Bus) keepBytes(o *outbound, data []byte, fds *fdSet) {
	if fds != nil {
		fds.refs++
		o.fds += len(fds.fds)
		buf := b.memory.buffers.get(len(data))
		copy(buf, data)
		o.waiting = append(o.waiting, chunk{data: buf, fds: fds}) // one message and nothing else
		o.bytes += len(data)
		return
	}
	for len(data) > 0 {
		if l := len(o.waiting); l == 0 || o.waiting[l-1].big != nil || o.waiting[l-1].fds != nil || len(o.waiting[l-1].data) == cap(o.waiting[l-1].data) {
			o.waiting = append(o.waiting, chunk{data: b.memory.buffers.get(max(len(data), waitingChunk))[:0]})
		}
		last := &o.waiting[len(o.waiting)-1]
		n := min(len(data), cap(last.data)-len(last.data))
		last.data = append(last.data, data[:n]...)
		o.bytes += n
		data = data[n:]
	}
}

// charge lets the payer of a packet answer for bytes of it that wait for p, and
// for its descriptors if they do. Bytes that go beyond its quota wait all the
// same: hasRoom let them pass, they are no more than a turn's, and p, who kept up
// so far, is not to suffer for whoever has used up the quota.
func (b *Bus) charge(p *Peer, k *packet, bytes int) {
	d := debt{bytes: bytes, payer: k.payer}
	switch {
	case k.charged: // and so used
		k.charged = false
		d.fds = len(k.fds.fds)
	case d.payer.uses == 0: // its last connection has left in this very turn
		d.payer = b.join(d.payer.uid, d.payer.known)
	default:
		d.payer.uses++
	}
	if !d.payer.take(d.bytes, 0) {
		d.bytes = 0
	}
	o := &p.out
	d.until = o.position + uint64(o.bytes) + uint64(bytes)
	if l := len(o.debts); l > 0 && d.fds == 0 && o.debts[l-1].fds == 0 && o.debts[l-1].payer == d.payer && o.debts[l-1].bytes < waitingChunk {
		o.debts[l-1].until = d.until
		o.debts[l-1].bytes += d.bytes
		b.leave(d.payer)
		return
	}
	o.debts = append(o.debts, d)
}

// drain goes on with what waits for a peer, when its socket has room again.
func (b *Bus) drain(p *Peer) {
	defer b.rescue(p)
	o := &p.out
	for len(o.waiting) > 0 {
		b.sending.pieces = b.sending.pieces[:0]
		total := 0
		for i := range o.waiting {
			if c := &o.waiting[i]; i == 0 || c.fds == nil && i < rawio.MaxPieces {
				b.sending.pieces = append(b.sending.pieces, c.data[c.from:])
				total += len(c.data) - c.from
				continue
			}
			break
		}
		var fds []int
		if first := o.waiting[0]; first.fds != nil {
			fds = first.fds.fds
		}
		n, err := b.loop.raw.Send(p.fd, b.sending.pieces, fds)
		switch {
		case err == rawio.ErrAgain:
			return
		case err == unix.ETOOMANYREFS:
			b.logTooManyRefs(p)
			// A big body behind it is the same message's: one with descriptors has a
			// chunk of its own.
			if n = len(o.waiting[0].data); len(o.waiting) > 1 && o.waiting[1].big != nil {
				n += len(o.waiting[1].data) - o.waiting[1].from
			}
			b.advance(p, n, false)
			continue
		case err != nil:
			b.unsendable(p, err)
			return
		}
		b.stats.SentBytes += uint64(n)
		b.stats.Sends++
		b.advance(p, n, true)
		if n < total {
			return
		}
	}
	b.setEvents(p)
}

// advance takes n bytes off what waits: the socket has taken them, or they are
// dropped. Positions count both.
func (b *Bus) advance(p *Peer, n int, taken bool) {
	o := &p.out
	o.position += uint64(n)
	if !taken {
		for i := range o.lent {
			o.lent[i].until += uint64(n)
		}
	}
	o.bytes -= n
	done := 0
	for n > 0 {
		c := &o.waiting[done]
		if c.fds != nil {
			o.fds -= len(c.fds.fds)
			b.releaseFDs(c.fds)
			c.fds = nil
		}
		step := min(n, len(c.data)-c.from)
		c.from += step
		n -= step
		if c.from == len(c.data) {
			b.freeChunk(c)
			done++
		}
	}
	o.waiting = shift(o.waiting, done)
	settled := 0
	for settled < len(o.debts) && o.debts[settled].until <= o.position {
		if d := o.debts[settled]; d.fds > 0 && taken {
			d.payer.give(d.bytes, 0)
			d.bytes = 0
			b.lent(p, d)
		} else {
			b.settle(&d)
		}
		settled++
	}
	o.debts = shift(o.debts, settled)
	b.watchStall(p)
}

// shift takes the first n elements off s, and lets go of s when none is left.
// Appending to what is left moves it to the front in time.
func shift[T any](s []T, n int) []T {
	if n == len(s) {
		return nil
	}
	clear(s[:n])
	return s[n:]
}

func (b *Bus) freeChunk(c *chunk) {
	if c.big != nil {
		b.releaseBody(c.big)
	} else {
		b.memory.buffers.put(c.data)
	}
}

func (b *Bus) settle(d *debt) {
	d.payer.give(d.bytes, d.fds)
	b.leave(d.payer)
}

// watchStall holds a peer to its time: all that waited for it at the moment of the
// mark must have been taken before the timer fires. A mark that was reached is
// replaced by the next one, so a peer that keeps up, if late, is left alone.
func (b *Bus) watchStall(p *Peer) {
	o := &p.out
	switch {
	case len(o.waiting) == 0:
		b.cancel(&o.stall)
		o.mark = 0
	case o.mark == 0 || o.position >= o.mark:
		o.mark = o.position + uint64(o.bytes)
		if o.stall.fire == nil {
			o.stall.fire = func() { b.stalled(p) }
		}
		if b.opt.SendTimeout > 0 {
			b.set(&o.stall, b.opt.SendTimeout)
		}
	}
}

// stalled ends a peer that did not take in time what waited for it.
func (b *Bus) stalled(p *Peer) {
	b.drop(p, reasonStalled, fmt.Errorf("it left %d bytes unread for BUSD_SEND_TIMEOUT of %v", p.out.bytes, b.opt.SendTimeout))
}

// discard frees all that waits for a peer that is not sent it any more.
func (b *Bus) discard(o *outbound) {
	for i := range o.waiting {
		c := &o.waiting[i]
		if c.fds != nil {
			o.fds -= len(c.fds.fds)
			b.releaseFDs(c.fds)
		}
		b.freeChunk(c)
	}
	for i := range o.debts {
		b.settle(&o.debts[i])
	}
	b.cancel(&o.stall)
	o.waiting, o.debts, o.bytes = nil, nil, 0
}
