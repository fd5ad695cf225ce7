package ledger

import (
	"math"
	"time"

	"quartet/services/botd/internal/envelope"
)

const (
	// maxEntries is how many messages are remembered. Beyond it, and a quarter
	// more, the oldest settled ones go first.
	maxEntries = 1 << 16

	// maxOpen bounds those that are not settled, which are never forgotten. It
	// is more than the spill usually has.
	maxOpen = 1 << 17

	// sweepPeriod is how often Tidy looks at all that is remembered.
	sweepPeriod = time.Minute
)

// memory is all that is remembered.
type memory struct {
	names   map[name]*entry     // the last of each name
	order   []*entry            // in which they came
	most    int                 // that are remembered, but for those not settled
	limit   int                 // of order, where it is swept
	count   int                 // of what is remembered
	open    int                 // of that, what is not settled
	unknown map[*entry]struct{} // of that, what may be settled by a receipt
	swept   time.Time           // by Tidy
	ahead   int                 // found then, of what is far ahead of the clock
	since   time.Time           // when that was less, or nothing
}

func newMemory(most int) memory {
	return memory{names: make(map[name]*entry), most: most, limit: most + most/4, unknown: make(map[*entry]struct{})}
}

// find returns the message of a key, nil when it is not remembered.
func (m *memory) find(k Key) *entry {
	for e := m.names[nameOf(k.Sender, k.Timestamp)]; e != nil; e = e.next {
		if e.is(k) {
			return e
		}
	}
	return nil
}

// known reports whether a message was taken, or what stands for it: its edit,
// or of an edit any other one. What was spilled by an earlier life does not
// count for itself, nor what was no command for its edit: nothing was answered,
// and from now on the edit is known for both.
func (m *memory) known(k Key) bool {
	for e := m.names[nameOf(k.Sender, k.Timestamp)]; e != nil; e = e.next {
		if e.is(k) && e.left() || k.Edit && !e.edit && e.state == noCommand {
			continue
		}
		if e.edit || k.Edit || e.is(k) {
			return true
		}
	}
	return false
}

// add remembers a message that waits.
func (m *memory) add(k Key, at int64) *entry {
	n := nameOf(k.Sender, k.Timestamp)
	e := &entry{name: n, at: at, device: int32(k.Device), edit: k.Edit, next: m.names[n]}
	m.names[n] = e
	m.order = append(m.order, e)
	m.count++
	m.open++
	if len(m.order) > m.limit {
		m.sweep(0, math.MaxInt64)
	}
	return e
}

// addRevision remembers the edit by its own moment too, which the next edit may
// name. It returns nil for what is no edit, or one that came before.
func (m *memory) addRevision(in *envelope.Message, at int64) *entry {
	k := Key{in.Sender, in.Device, in.Timestamp, true}
	if in.Edits == 0 || in.Timestamp == 0 || m.find(k) != nil {
		return nil
	}
	e := m.add(k, at)
	e.of = in.Edits
	m.move(e, dropped)
	return e
}

// revisions returns the message of a name with its edits, by the name of any.
func (m *memory) revisions(sender string, sent int64) []*entry {
	n := nameOf(sender, sent)
	var all []*entry
	for e := m.names[n]; e != nil; e = e.next {
		all = append(all, e)
		if e.of == 0 {
			continue
		}
		for e := m.names[name{n.who, e.of}]; e != nil; e = e.next {
			all = append(all, e)
		}
	}
	return all
}

// move makes s the state of e. Only what waits has a text.
func (m *memory) move(e *entry, s code) {
	m.open += unsettled(s) - unsettled(e.state)
	if e.state = s; s != waiting {
		e.in, e.text = nil, nowhere
	}
	if delete(m.unknown, e); s == unknown {
		m.unknown[e] = struct{}{}
	}
}

func unsettled(s code) int {
	if s.settled() {
		return 0
	}
	return 1
}

// forget makes e one that never came.
func (m *memory) forget(e *entry) {
	if e.next == nil && m.names[e.name] == e {
		delete(m.names, e.name)
	} else if m.names[e.name] == e {
		m.names[e.name] = e.next
	} else {
		before := m.names[e.name]
		for before.next != e {
			before = before.next
		}
		before.next = e.next
	}
	m.move(e, dropped)
	e.gone = true
	m.count--
}

// takeBack forgets what was just added, nil too, before it takes the place of
// anything.
func (m *memory) takeBack(entries ...*entry) {
	for _, e := range entries {
		if e != nil && !e.gone {
			m.forget(e)
		}
	}
	last := len(m.order)
	for last > 0 && m.order[last-1].gone {
		last--
	}
	clear(m.order[last:])
	m.order = m.order[:last]
}

// sweep forgets what was taken before a moment or after another, and more where
// there is too much: what is settled, the oldest first. What was spilled that
// long ago is not answered any more either.
func (m *memory) sweep(before, after int64) {
	excess := m.count - m.most
	kept := m.order[:0]
	for _, e := range m.order {
		over := e.at < before || e.at > after
		switch {
		case e.gone:
		case e.state.settled() && (over || excess > 0), over && e.text >= inSpill:
			m.forget(e)
			excess--
		default:
			kept = append(kept, e)
		}
	}
	clear(m.order[len(kept):])
	m.order = kept
	m.limit = max(len(kept), m.most) + m.most/4
}

// Tidy forgets what is over. The store's Tidy shortens the journal by it.
func (l *Ledger) Tidy(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The clock may have been set, so the first need not be the oldest.
	if since := now.Sub(l.swept); len(l.order) == 0 || since >= 0 && since < sweepPeriod {
		return
	}
	l.swept = now
	l.sweep(now.Add(-Retention).UnixMilli(), l.lookAhead(now))
}

// lookAhead returns the moment after which what was taken is over: its clock was
// far ahead. Or the clock is far behind now, as after a loss of power until the
// time is known, and that is the very moment in which frames come again. So all
// of it must have been here for as long as anything is remembered, in which no
// more of it came; a clock that is set does not shorten that, and a restart
// begins it anew. It is never forgotten earlier than other messages are.
func (m *memory) lookAhead(now time.Time) (after int64) {
	far, ahead := now.Add(Retention).UnixMilli(), 0
	for _, e := range m.order {
		if !e.gone && e.at > far {
			ahead++
		}
	}
	if ahead == 0 || ahead > m.ahead {
		m.since = now
	}
	m.ahead = ahead
	if now.Sub(m.since) < Retention {
		return math.MaxInt64
	}
	return far
}
