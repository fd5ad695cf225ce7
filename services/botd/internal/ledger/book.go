package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/store"
)

// letter tells the ledger's records from those of other books.
const letter = 'l'

// record is one step of one message, as it stands in the journal. In the
// ledger's account one record has all that is known of a message.
type record struct {
	Key     Key               `json:"k"`
	State   State             `json:"s"`
	At      int64             `json:"at,omitempty"` // of a new one
	Begun   int64             `json:"b,omitempty"`  // of one whose answer was begun
	Of      int64             `json:"of,omitempty"` // of a later edit
	Spilled bool              `json:"sp,omitempty"` // while it waits in the spill
	Message *envelope.Message `json:"m,omitempty"`  // while it waits here

	// NoCommand is that of a dropped one. It is no state of its own here, which
	// an earlier botd would not know.
	NoCommand bool `json:"n,omitempty"`
}

// code is the state that a record tells.
func (r *record) code() code {
	if r.State == Dropped && r.NoCommand {
		return noCommand
	}
	return codeOf(r.State)
}

// recordOf is all that is known of a message. Called with l.mu held.
func recordOf(e *entry) record {
	return record{
		Key: e.key(), State: e.state.State(), At: e.at, Begun: e.begun, Of: e.of,
		Spilled: e.text >= inSpill, Message: e.in, NoCommand: e.state == noCommand,
	}
}

// write appends records to the journal, before those of others.
func (l *Ledger) write(with []store.Record, records ...record) error {
	if !l.store.Durable() {
		return nil
	}
	all := make([]store.Record, 0, len(records)+len(with))
	for _, r := range records {
		var raw bytes.Buffer
		if err := encoder(&raw).Encode(&r); err != nil {
			return fmt.Errorf("encode a record of the ledger: %w", err)
		}
		all = append(all, store.Record{Book: letter, Data: raw.Bytes()})
	}
	return l.store.Append(append(all, with...)...)
}

// encoder writes texts as short as they are: a web page's escapes would make six
// bytes of a "<".
func encoder(to io.Writer) *json.Encoder {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	return e
}

// Letter implements store.Book.
func (l *Ledger) Letter() byte { return letter }

// Apply implements store.Book.
func (l *Ledger) Apply(data []byte) error {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	state := r.code()
	switch {
	case state == noState:
		return errors.New("no such state of a message")
	case state == waiting && r.Message == nil && !r.Spilled:
		return errors.New("a message that waits is not there")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.find(r.Key)
	switch {
	case r.At != 0: // taken, perhaps again after it was forgotten
		if e != nil {
			l.forget(e)
		}
		e = l.add(r.Key, r.At)
		e.of = r.Of
	case e == nil:
		return nil // a step of a message that is forgotten
	}
	l.restore(e, state, &r)
	return nil
}

// restore makes an entry what a record says of it.
func (l *Ledger) restore(e *entry, state code, r *record) {
	l.move(e, state)
	if r.Begun != 0 {
		e.begun = r.Begun
	}
	switch {
	case state != waiting:
	case r.Spilled:
		e.in, e.text = nil, inOldSpill
	default:
		e.in, e.text = r.Message, here
	}
}

// Recover makes what an earlier life left in flight unknown, for good. It is
// called once, after the store was opened.
func (l *Ledger) Recover() error {
	l.mu.Lock()
	for _, e := range l.order {
		switch {
		case e.gone:
		case e.state == waiting:
			l.recovered.Waiting++
		case e.state == inFlight:
			l.recovered.Unknown++
			l.move(e, unknown)
		}
	}
	found := l.recovered.Unknown
	l.mu.Unlock()
	if found == 0 {
		return nil
	}
	return l.store.Compact() // all at once, and there is room for it in a full journal too
}

// Dump implements store.Book. It keeps nobody waiting for long: the bot's
// reader may be one of them.
func (l *Ledger) Dump(add func(data []byte) error) error {
	l.mu.Lock()
	order := slices.Clone(l.order)
	l.mu.Unlock()
	// One of each for all of them: there are many, and garbage is answered with
	// collections.
	var r record
	var gone bool
	var raw bytes.Buffer
	encode := encoder(&raw)
	for _, e := range order {
		l.mu.Lock()
		r, gone = recordOf(e), e.gone
		l.mu.Unlock()
		if gone {
			continue
		}
		raw.Reset()
		if err := encode.Encode(&r); err != nil {
			return fmt.Errorf("encode a record of the ledger: %w", err)
		}
		if err := add(raw.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
