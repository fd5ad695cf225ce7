// Package ledger remembers which messages came in and what became of each, so
// that every one is answered once: a frame that comes twice is answered the
// first time, and a bot that was killed answers at its next start what it had
// taken and not begun to answer.
//
//	waiting    taken; no answer has been begun
//	in flight  an answer is being sent, or was when the bot was killed
//	settled    answered, refused, dropped, or unknown
//
// Each step is in the journal before it is acted on. So what was in flight when
// the bot was killed is unknown afterwards: it may have arrived, and is never
// sent again. What the journal does not have yet when power is lost (50 ms, or
// nothing with Options.Always) is as if it had not happened.
//
// Without a folder it keeps all this in memory, and forgets it with the process.
package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
	"quartet/services/botd/internal/envelope"
)

const (
	// Retention is how long a settled message is remembered: signal-cli may
	// deliver one again after a crash of its own.
	Retention = 24 * time.Hour

	// maxEntries bounds what is remembered, to some MiB. Beyond it the oldest
	// settled ones go first.
	maxEntries = 1 << 16

	// tidyBytes is how much the journal may grow before it is replaced by what
	// is still remembered.
	tidyBytes = 16 << 20
)

// Key names a message: its author, the device that wrote it, and that device's
// clock in milliseconds, which Signal itself uses as the message's name.
type Key struct {
	Sender    string
	Device    int
	Timestamp int64
}

// KeyOf is the key of a message.
func KeyOf(m *envelope.Message) Key { return Key{m.Sender, m.Device, m.Timestamp} }

// State is what is known of a message.
type State string

// The states. The last four are settled.
const (
	Waiting  State = "waiting"
	InFlight State = "in_flight"
	Sent     State = "sent"
	Failed   State = "failed"  // certainly not sent
	Unknown  State = "unknown" // may have been sent
	Dropped  State = "dropped" // not answered, for a counted reason
)

var states = []State{Waiting, InFlight, Sent, Failed, Unknown, Dropped}

func (s State) settled() bool { return s != Waiting && s != InFlight }

// Options say where the ledger is kept.
type Options struct {
	Dir    string // "" keeps it in memory
	Always bool   // each step is safe from a loss of power before it is acted on
}

// Recovered is what an earlier life of the bot left behind.
type Recovered struct {
	Waiting   int   // taken and not answered
	Unknown   int   // may have been answered
	TornBytes int64 // of the journal's end that a crash had half written
}

// Ledger is safe for concurrent use, as long as the steps of one message come
// one after another.
type Ledger struct {
	log       *journal.Log // nil in memory
	recovered Recovered

	mu      sync.Mutex
	entries map[Key]*entry // guarded by mu, as all below
	order   []*entry       // in which they came; some are forgotten
	err     error          // why nothing could be written last
}

type entry struct {
	key   Key
	state State
	at    int64             // when it was taken, Unix milliseconds
	in    *envelope.Message // while it waits
}

// Open reads a ledger, or begins one. What was in flight becomes unknown.
func Open(fs disk.FS, o Options) (*Ledger, error) {
	l := &Ledger{entries: make(map[Key]*entry)}
	if o.Dir == "" {
		return l, nil
	}
	log, err := journal.Open(fs, o.Dir, journal.Options{
		SegmentBytes:  8 << 20, // bounds a message
		MaxBytes:      64 << 20,
		SnapshotBytes: 64 << 20,
		Always:        o.Always,
	})
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	l.log = log
	if err := l.replay(); err != nil {
		log.Close()
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return l, nil
}

// Accept takes a message; fresh is false for one that was taken before. After
// an error it is not taken and must not be answered: journal.ErrTooLarge is
// about this one, any other error about all.
func (l *Ledger) Accept(m *envelope.Message, now time.Time) (fresh bool, err error) {
	key, at := KeyOf(m), now.UnixMilli()
	l.mu.Lock()
	if _, known := l.entries[key]; known {
		l.mu.Unlock()
		return false, nil
	}
	kept := *m
	e := &entry{key: key, state: Waiting, at: at, in: &kept}
	l.add(e)
	l.mu.Unlock()
	if err := l.write(record{Key: key, State: Waiting, At: at, Message: m}); err != nil {
		l.mu.Lock()
		l.forget(e)
		if last := len(l.order) - 1; l.order[last] == e {
			l.order = l.order[:last] // or it would take the place of one that was taken
		}
		l.mu.Unlock()
		return false, err
	}
	return true, nil
}

// Begin says that an answer is about to be sent. After an error it must not be.
func (l *Ledger) Begin(k Key) error { return l.step(k, InFlight) }

// Settle says what became of a message.
func (l *Ledger) Settle(k Key, s State) error { return l.step(k, s) }

// step moves a message on, in memory before it is written: a checkpoint in
// between must not miss what the journal has before it.
func (l *Ledger) step(k Key, s State) error {
	l.mu.Lock()
	if e := l.entries[k]; e != nil {
		e.state, e.in = s, nil
	}
	l.mu.Unlock()
	return l.write(record{Key: k, State: s})
}

// Waiting returns what an earlier life took and did not begin to answer, in
// the order in which it came, and when each was taken.
func (l *Ledger) Waiting() []Taken {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Taken
	for _, e := range l.order {
		if l.knows(e) && e.state == Waiting {
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

// Recovered tells what Open found.
func (l *Ledger) Recovered() Recovered { return l.recovered }

// Durable reports whether the ledger outlives the process.
func (l *Ledger) Durable() bool { return l.log != nil }

// Err is why the ledger can take nothing, nil while it can.
func (l *Ledger) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && l.log != nil {
		return l.log.Stats().Broken // a sync may have failed since the last write
	}
	return l.err
}

// Close ends the ledger; what was written is safe afterwards.
func (l *Ledger) Close() error {
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}

// add remembers an entry, and forgets old ones for it when there are too many.
// Called with l.mu held, like the three below.
func (l *Ledger) add(e *entry) {
	l.entries[e.key] = e
	l.order = append(l.order, e)
	for len(l.order) > maxEntries && l.forgetOldest() {
	}
}

// forgetOldest reports false for one that is not settled: it is never
// forgotten, nor those behind it.
func (l *Ledger) forgetOldest() bool {
	e := l.order[0]
	if l.knows(e) && !e.state.settled() {
		return false
	}
	l.forget(e)
	l.order[0] = nil
	l.order = l.order[1:]
	return true
}

// knows reports whether e is remembered: another message of its key may be by now.
func (l *Ledger) knows(e *entry) bool { return l.entries[e.key] == e }

func (l *Ledger) forget(e *entry) {
	if l.knows(e) {
		delete(l.entries, e.key)
	}
}

// write appends a record to the journal, if there is one.
func (l *Ledger) write(r record) error {
	if l.log == nil {
		return nil
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err = l.log.Append(raw); err != nil {
		err = fmt.Errorf("write to the ledger: %w", err)
	}
	if errors.Is(err, journal.ErrTooLarge) {
		return err // others are not
	}
	l.mu.Lock()
	l.err = err
	l.mu.Unlock()
	return err
}
