package bus

import (
	"math/bits"
	"math/rand/v2"
)

// A pending is a method call whose answer is still to come.
type pending struct {
	caller, callee *Peer
	serial         uint32
	timer          timer

	next *pending // in its bucket of the table, or of the free ones

	// Its places in the lists of both peers, so that a peer that leaves takes
	// its own along without a search.
	ofCaller, ofCallee link
}

// A link is a place in a ring of pending calls.
type link struct{ before, after *pending }

// pendings is the table of all of them, by caller, callee and serial. It is
// our own so that millions of calls a minute allocate nothing.
type pendings struct {
	buckets []*pending
	seed    [2]uint64 // random, so that nobody can choose serials that share a bucket
	count   int
	free    *pending
}

const fewestBuckets = 256

func (t *pendings) bucket(caller, callee *Peer, serial uint32) **pending {
	h := fold(caller.id^t.seed[0], callee.id^t.seed[1])
	h = fold(h^t.seed[0], uint64(serial)^t.seed[1])
	return &t.buckets[h&uint64(len(t.buckets)-1)]
}

// fold is the product of two numbers with its halves put together.
func fold(x, y uint64) uint64 {
	high, low := bits.Mul64(x, y)
	return high ^ low
}

// find returns where the pending call is linked from, or nil.
func (t *pendings) find(caller, callee *Peer, serial uint32) **pending {
	if t.count == 0 {
		return nil
	}
	for at := t.bucket(caller, callee, serial); *at != nil; at = &(*at).next {
		if c := *at; c.serial == serial && c.caller == caller && c.callee == callee {
			return at
		}
	}
	return nil
}

func (t *pendings) add(caller, callee *Peer, serial uint32) *pending {
	if t.count >= len(t.buckets) {
		t.resize(max(fewestBuckets, 2*len(t.buckets)))
	}
	c := t.free
	if c != nil {
		t.free = c.next
	} else {
		c = new(pending)
	}
	at := t.bucket(caller, callee, serial)
	c.caller, c.callee, c.serial, c.next = caller, callee, serial, *at
	*at = c
	t.count++
	c.ofCaller.after, caller.asked = caller.asked, c
	if c.ofCaller.after != nil {
		c.ofCaller.after.ofCaller.before = c
	}
	c.ofCallee.after, callee.owes = callee.owes, c
	if c.ofCallee.after != nil {
		c.ofCallee.after.ofCallee.before = c
	}
	caller.pending++
	return c
}

// remove takes out what find has found.
func (t *pendings) remove(at **pending) {
	c := *at
	*at = c.next
	t.count--
	c.caller.pending--
	if c.ofCaller.before != nil {
		c.ofCaller.before.ofCaller.after = c.ofCaller.after
	} else {
		c.caller.asked = c.ofCaller.after
	}
	if c.ofCaller.after != nil {
		c.ofCaller.after.ofCaller.before = c.ofCaller.before
	}
	if c.ofCallee.before != nil {
		c.ofCallee.before.ofCallee.after = c.ofCallee.after
	} else {
		c.callee.owes = c.ofCallee.after
	}
	if c.ofCallee.after != nil {
		c.ofCallee.after.ofCallee.before = c.ofCallee.before
	}
	*c = pending{next: t.free}
	t.free = c
	if len(t.buckets) > fewestBuckets && t.count < len(t.buckets)/8 {
		t.resize(len(t.buckets) / 2)
	}
}

func (t *pendings) resize(n int) {
	old := t.buckets
	if old == nil {
		t.seed = [2]uint64{rand.Uint64(), rand.Uint64()}
	}
	t.buckets = make([]*pending, n)
	for _, c := range old {
		for c != nil {
			next := c.next
			at := t.bucket(c.caller, c.callee, c.serial)
			c.next, *at = *at, c
			c = next
		}
	}
	if t.count < n/4 { // it shrinks: what was needed once is let go as well
		t.free = nil
	}
}

// settled ends one pending call, and says whether there was one: only then is
// the message a reply that somebody asked for.
func (b *Bus) settled(caller, callee *Peer, serial uint32) bool {
	at := b.pendings.find(caller, callee, serial)
	if at == nil {
		return false
	}
	b.cancel(&(*at).timer)
	b.pendings.remove(at)
	return true
}

// mayExpect says why caller may not wait for another reply of callee's.
func (b *Bus) mayExpect(caller, callee *Peer, serial uint32) *refusal {
	if b.pendings.find(caller, callee, serial) != nil {
		return refused(accessDenied, "Message has the same reply serial as a currently-outstanding existing method call")
	}
	if limit := b.settings.Limits.MaxRepliesPerConnection; caller.pending >= limit {
		return refused(limitsExceeded, "The maximum number of pending replies per connection has been reached (max_replies_per_connection=%d)", limit)
	}
	return nil
}

// expect remembers that callee owes caller a reply.
func (b *Bus) expect(caller, callee *Peer, serial uint32) {
	c := b.pendings.add(caller, callee, serial)
	if d := b.settings.Limits.ReplyTimeout; d > 0 {
		c.timer.fire = func() { b.noReply(c, "Message did not receive a reply (timeout by message bus)") }
		b.set(&c.timer, d)
	}
}

// noReply tells the caller that there will be no answer.
func (b *Bus) noReply(c *pending, text string) {
	caller, serial := c.caller, c.serial
	b.cancel(&c.timer)
	b.pendings.remove(b.pendings.find(c.caller, c.callee, c.serial))
	b.sendError(caller, serial, noReplyError, text)
}

// forgetReplies ends all pending calls of a peer that leaves: those it was to
// answer with an error to their callers, its own without a word.
func (b *Bus) forgetReplies(p *Peer) {
	for p.asked != nil {
		b.settled(p.asked.caller, p.asked.callee, p.asked.serial)
	}
	for p.owes != nil {
		b.noReply(p.owes, "Message recipient disconnected from message bus without replying")
	}
}
