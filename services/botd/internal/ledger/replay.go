package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"quartet/kit/journal"
	"quartet/services/botd/internal/envelope"
)

// record is one step of one message, as it stands in the journal. In a
// checkpoint one record has all that is known of a message.
type record struct {
	Key     Key               `json:"k"`
	State   State             `json:"s"`
	At      int64             `json:"at,omitempty"` // of a new one
	Message *envelope.Message `json:"m,omitempty"`  // while it waits
}

// replay reads the checkpoint and what was written after it.
func (l *Ledger) replay() error {
	at, err := l.log.Snapshot(l.apply)
	if err != nil {
		return err
	}
	if err := l.log.Scan(at, func(_ journal.Pos, raw []byte) error { return l.apply(raw) }); err != nil {
		return err
	}
	l.recovered.TornBytes = l.log.Recovered().Bytes
	for _, e := range l.entries {
		switch e.state {
		case Waiting:
			l.recovered.Waiting++
		case InFlight:
			l.recovered.Unknown++
			e.state = Unknown
		}
	}
	if l.recovered.Unknown == 0 {
		return nil
	}
	return l.checkpoint() // all at once, and there is room for it in a full journal too
}

var errForeign = errors.New("a record is none of ours, the folder may be another program's")

// apply takes one record in. Open's goroutine alone has the ledger.
func (l *Ledger) apply(raw []byte) error {
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	if !slices.Contains(states, r.State) {
		return errForeign
	}
	e := l.entries[r.Key]
	switch {
	case r.At != 0: // taken, perhaps again after it was forgotten
		e = &entry{key: r.Key, at: r.At, state: r.State}
		l.add(e)
	case e == nil:
		return nil // a step of a message that is forgotten
	}
	e.state, e.in = r.State, r.Message
	if e.state == Waiting && e.in == nil {
		return errors.New("a message that waits is not there")
	}
	return nil
}

// Tidy forgets what is over, and replaces a long journal by what is left. When
// nothing could be written last it does so too: where that works, others do.
func (l *Ledger) Tidy(now time.Time) error {
	over := now.Add(-Retention).UnixMilli()
	l.mu.Lock()
	for len(l.order) > 0 && l.order[0].at < over && l.forgetOldest() {
	}
	l.mu.Unlock()
	if l.log == nil || l.log.Stats().Bytes < tidyBytes && l.Err() == nil {
		return nil
	}
	if err := l.checkpoint(); err != nil {
		return err
	}
	l.mu.Lock()
	l.err = nil
	l.mu.Unlock()
	return nil
}

// checkpoint puts what is remembered in place of the journal so far.
func (l *Ledger) checkpoint() error {
	// Memory is ahead of the journal, so it has everything before this.
	at := l.log.End()
	err := l.log.Checkpoint(at, func(add func([]byte) error) error {
		for _, e := range l.ordered() {
			r, known := l.stateOf(e)
			if !known {
				continue
			}
			raw, err := json.Marshal(r)
			if err != nil {
				return err
			}
			if err := add(raw); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = l.log.Drop(at)
	}
	if err != nil {
		return fmt.Errorf("shorten the ledger: %w", err)
	}
	return nil
}

// ordered is all that is remembered, and perhaps more, in the order in which it
// came. With stateOf it keeps nobody waiting for long: the reader may be one of them.
func (l *Ledger) ordered() []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.order)
}

// stateOf is what is known of an entry; known is false when it is forgotten.
func (l *Ledger) stateOf(e *entry) (_ record, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return record{Key: e.key, State: e.state, At: e.at, Message: e.in}, l.knows(e)
}
