// Package ledger remembers which messages came in and what became of each, so
// that every one is answered once: a frame that comes twice is answered the
// first time, and a bot that was killed answers at its next start what it had
// taken and not begun to answer.
//
//	waiting    taken; no answer has been begun
//	in flight  an answer is being sent, or was when the bot was killed
//	settled    answered, refused, dropped, or unknown
//
// It is a book of the store, so each step is in the journal before it is acted
// on, with what others have to write of the same step. What was in flight when
// the bot was killed is unknown afterwards: it may have arrived, and is never
// sent again.
//
// An edit stands for the message that it edits: one of them is answered. Of what
// was no command that anybody knows, that is the edit. The text of a message that
// waits is here, or in the spill, for which this package only tells what still
// waits.
//
//	take.go    what comes in
//	step.go    what becomes of it
//	memory.go  what is remembered of it, and for how long
//	entry.go   of one message
//	book.go    how that is written down and read again
package ledger

import (
	"errors"
	"sync"
	"time"

	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/store"
)

// Retention is how long a settled message is remembered: signal-cli may deliver
// one again after a crash of its own.
const Retention = 24 * time.Hour

var (
	// ErrCancelled is returned by Begin for a message that is not to be
	// answered any more: its author deleted it.
	ErrCancelled = errors.New("deleted by its author")

	// ErrTooMany is returned by Accept while more messages wait than are kept.
	ErrTooMany = errors.New("too many messages wait for an answer; some must be answered or dropped first")
)

// Key names a message: its author, the device that wrote it, and that device's
// clock in milliseconds, which Signal itself uses as the message's name. An edit
// has the Timestamp of the message that it edits.
type Key struct {
	Sender    string `json:"s"`
	Device    int    `json:"d,omitempty"`
	Timestamp int64  `json:"t"`
	Edit      bool   `json:"e,omitempty"`
}

// KeyOf is the key of a message.
func KeyOf(m *envelope.Message) Key {
	if m.Edits != 0 {
		return Key{m.Sender, m.Device, m.Edits, true}
	}
	return Key{m.Sender, m.Device, m.Timestamp, false}
}

// State is what is known of a message.
type State string

// The states. All but the first two are settled.
const (
	Waiting  State = "waiting"
	InFlight State = "in_flight"
	Sent     State = "sent"
	Failed   State = "failed"  // certainly not sent
	Unknown  State = "unknown" // may have been sent
	Dropped  State = "dropped" // not answered, for a counted reason

	// NoCommand is for Settle: Dropped, because it is no command that anybody
	// knows. An edit of it may be one.
	NoCommand State = "no_command"
)

// Recovered is what an earlier life of the bot left behind.
type Recovered struct {
	Waiting int // taken and not answered, in the spill too
	Unknown int // may have been answered
}

// Ledger is safe for concurrent use, as long as the steps of one message come
// one after another.
type Ledger struct {
	store *store.Store

	mu sync.Mutex // guards all that follows
	memory
	recovered Recovered
}

// New returns a ledger that writes to w, to be opened with it.
func New(w *store.Store) *Ledger { return &Ledger{store: w, memory: newMemory(maxEntries)} }

// StateOf is what is known of a message, "" when it is not remembered.
func (l *Ledger) StateOf(k Key) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.find(k); e != nil {
		return e.state.State()
	}
	return ""
}

// Waiting returns what an earlier life took and did not begin to answer, in
// the order in which it came, and when each was taken. What was spilled is not
// among it.
func (l *Ledger) Waiting() []Taken {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Taken
	for _, e := range l.order {
		if !e.gone && e.text == here {
			all = append(all, Taken{*e.in, time.UnixMilli(e.at)})
		}
	}
	return all
}

// Taken is a message that waits.
type Taken struct {
	Message envelope.Message
	At      time.Time
}

// Recovered tells what Recover found.
func (l *Ledger) Recovered() Recovered {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recovered
}
