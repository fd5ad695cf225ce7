package bus

import (
	"math/bits"
	"time"
)

// A phase is a part of a batch's time, as docs/decisions/0002 has it. A batch
// is one peer's share of a turn.
type phase uint8

const (
	phaseQueue    phase = iota // from the kernel's word that there is something until it is read, and while others are served
	phaseDispatch              // cut, checked, judged by the policy, matched
	phaseCompute               // the bus's own methods
	phaseSend                  // given to the sockets
	phases
)

// Phases are the names of the phases.
var Phases = [phases]string{"queue", "dispatch", "compute", "send"}

// Latency is how long batches took. Total is the sum of the phases, in each
// batch and so in their sums.
type Latency struct {
	Phase      [phases]Histogram
	Total, Own Histogram // own is all but send
}

// Histogram counts durations by powers of two: Counts[i] are those of less
// than 2^i microseconds that are in none before.
type Histogram struct {
	Counts [24]uint64
	Sum    time.Duration
}

// HistogramBound is the upper bound of a Histogram's Counts[i].
func HistogramBound(i int) time.Duration { return time.Microsecond << i }

func (h *Histogram) add(d time.Duration) {
	i := bits.Len64(uint64(d) / uint64(time.Microsecond))
	h.Counts[min(i, len(h.Counts)-1)]++
	h.Sum += d
}

// Count is how many durations it has.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// A Batch is one of those that are shown whole, as a span.
type Batch struct {
	Peer       string // its unique name
	Began      time.Time
	Phase      [phases]time.Duration
	Total, Own time.Duration
	Messages   int
}

// clock times the batches of a turn. It is only looked at when somebody wants
// to know: a turn costs a few microseconds, and each look a part of one.
type clock struct {
	on      bool
	last    time.Time
	batches []timed
	sending time.Duration // by flushes within the turn
	sampled uint64        // batches that could have been shown
}

type timed struct {
	peer              *Peer
	messages          uint64
	dispatch, compute time.Duration
}

// lap is the time since the last lap.
func (c *clock) lap() time.Duration {
	now := time.Now()
	d := now.Sub(c.last)
	c.last = now
	return d
}

// beginTurn starts the clock at the moment at which the wait ended.
func (b *Bus) beginTurn() {
	b.loop.now = time.Now()
	b.loop.turn++
	b.clock.last, b.clock.sending = b.loop.now, 0
	b.clock.batches = b.clock.batches[:0]
}

// beginBatch and endBatch are called around a peer's share.
func (b *Bus) beginBatch(p *Peer) {
	if b.clock.on {
		b.clock.lap()
		b.clock.batches = append(b.clock.batches, timed{peer: p, messages: b.stats.Messages})
	}
}

func (b *Bus) endBatch() {
	if b.clock.on {
		t := &b.clock.batches[len(b.clock.batches)-1]
		t.dispatch += b.clock.lap()
		t.messages = b.stats.Messages - t.messages
	}
}

// aside times what is done within a batch on another account.
func (b *Bus) aside() *timed {
	if !b.clock.on || len(b.clock.batches) == 0 {
		return nil
	}
	t := &b.clock.batches[len(b.clock.batches)-1]
	t.dispatch += b.clock.lap()
	return t
}

// endTurn records the batches of a turn when all of them are sent.
func (b *Bus) endTurn() {
	c := &b.clock
	if !c.on || len(c.batches) == 0 {
		return
	}
	c.sending += c.lap()
	total := c.last.Sub(b.loop.now)
	for i := range c.batches {
		t := &c.batches[i]
		if t.messages == 0 {
			continue
		}
		d := [phases]time.Duration{phaseDispatch: t.dispatch, phaseCompute: t.compute, phaseSend: c.sending}
		d[phaseQueue] = total - t.dispatch - t.compute - c.sending
		l := &b.stats.Latency
		for p := range d {
			l.Phase[p].add(d[p])
		}
		l.Total.add(total)
		l.Own.add(total - c.sending)
		if b.opt.Sample > 0 && b.opt.OnBatch != nil {
			if c.sampled++; c.sampled%b.opt.Sample == 0 {
				b.opt.OnBatch(Batch{Peer: t.peer.label(), Began: b.loop.now, Phase: d, Total: total, Own: total - c.sending, Messages: int(t.messages)})
			}
		}
	}
}
