package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
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
	for k, e := range l.entries {
		switch e.state {
		case Waiting:
			l.recovered.Waiting++
		case InFlight:
			l.recovered.Unknown++
			if err := l.step(k, Unknown); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply takes one record in. Open's goroutine alone has the ledger.
func (l *Ledger) apply(raw []byte) error {
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("a record is none of ours, the folder may be another program's: %w", err)
	}
	e := l.entries[r.Key]
	if e == nil {
		if r.At == 0 {
			return nil // a step of a message that is forgotten
		}
		e = &entry{key: r.Key, at: r.At, state: r.State}
		l.add(e)
	}
	e.state, e.in = r.State, r.Message
	if e.state == Waiting && e.in == nil {
		return errors.New("a message that waits is not there")
	}
	return nil
}

// Tidy forgets what is over, and replaces a long journal by what is left.
func (l *Ledger) Tidy(now time.Time) error {
	over := now.Add(-Retention).UnixMilli()
	l.mu.Lock()
	for _, e := range l.entries {
		if e.state.settled() && e.at < over {
			l.forget(e)
		}
	}
	l.compact()
	l.mu.Unlock()
	if l.log == nil || l.log.Stats().Bytes < tidyBytes {
		return nil
	}
	return l.checkpoint()
}

// checkpoint puts what is remembered in place of the journal so far.
func (l *Ledger) checkpoint() error {
	// Memory is ahead of the journal, so it has everything before this.
	at := l.log.End()
	err := l.log.Checkpoint(at, func(add func([]byte) error) error {
		for _, r := range l.all() {
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

// all is what is remembered, in order.
func (l *Ledger) all() []record {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]record, 0, len(l.entries))
	for _, e := range l.order {
		if l.knows(e) {
			all = append(all, record{Key: e.key, State: e.state, At: e.at, Message: e.in})
		}
	}
	return all
}
