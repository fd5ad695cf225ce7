package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/store"
)

// Begin says that an answer is about to be sent, and writes what others have to
// say of that, all or nothing. After an error it must not be sent: the message
// waits as before, or with ErrCancelled is not to be answered any more.
func (l *Ledger) Begin(k Key, with ...store.Record) error {
	defer l.store.Step()()
	l.mu.Lock()
	e := l.find(k)
	if e == nil || e.state.State() == Dropped {
		l.mu.Unlock()
		return ErrCancelled
	}
	was, in, text := e.state, e.in, e.text
	l.move(e, inFlight)
	e.begun = time.Now().UnixMilli()
	r := recordOf(e)
	l.mu.Unlock()
	r.At = 0
	err := l.write(with, r)
	if err != nil {
		l.mu.Lock()
		l.move(e, was)
		e.in, e.text, e.begun = in, text, 0
		l.mu.Unlock()
	}
	return err
}

// Unbegin takes Begin back where certainly nothing of the answer went out, and
// writes what others have to say of that, all or nothing: the message waits again.
// If that cannot be written it is unknown after a restart.
func (l *Ledger) Unbegin(m *envelope.Message, with ...store.Record) error {
	defer l.store.Step()()
	l.mu.Lock()
	e := l.find(KeyOf(m))
	if e == nil || e.state.settled() {
		l.mu.Unlock()
		return l.store.Append(with...)
	}
	l.move(e, waiting)
	e.wait(m, false)
	e.begun = 0
	r := recordOf(e)
	l.mu.Unlock()
	r.At = 0 // it is not taken anew
	return l.write(with, r)
}

// Settle says what became of a message, and writes what others have to say of
// that, all or nothing. Unknown may become Sent later.
func (l *Ledger) Settle(k Key, s State, with ...store.Record) error {
	to := codeOf(s)
	if to == noState || !to.settled() {
		return fmt.Errorf("settle a message as %q: that is no settled state", s)
	}
	defer l.store.Step()()
	l.mu.Lock()
	e := l.find(k)
	if e == nil {
		l.mu.Unlock()
		return l.store.Append(with...)
	}
	l.move(e, to)
	l.mu.Unlock()
	return l.write(with, record{Key: k, State: to.State(), NoCommand: to == noCommand})
}

// Cancel is for a message that its author deleted, or an edit of it: what of it
// was still waiting is dropped, in the spill too, and true is returned then. If
// that cannot be written a restart does not know of it.
func (l *Ledger) Cancel(sender string, timestamp int64) bool {
	var records []record
	l.mu.Lock()
	for _, e := range l.revisions(sender, timestamp) {
		if e.state == waiting {
			l.move(e, dropped)
			records = append(records, record{Key: e.key(), State: Dropped})
		}
	}
	l.mu.Unlock()
	if len(records) == 0 {
		return false
	}
	_ = l.write(nil, records...) // memory has it, and the store's Err tells
	return true
}

// Unknown returns the sender's messages of which nobody knows whether the answer
// arrived, those whose answer was begun between two moments, in that order. A
// receipt for what was sent then settles them.
func (l *Ledger) Unknown(sender string, from, to time.Time) []Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []*entry
	for e := range l.unknown {
		if at := e.begun; e.who.Value() == sender && at >= from.UnixMilli() && at <= to.UnixMilli() {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *entry) int { return cmp.Or(cmp.Compare(a.begun, b.begun), cmp.Compare(a.at, b.at)) })
	var keys []Key
	for _, e := range found {
		keys = append(keys, e.key())
	}
	return keys
}
