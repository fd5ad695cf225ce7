package rules

import (
	"encoding/json"
	"slices"
	"time"

	"quartet/services/botd/internal/store"
)

// letter is what the rules' records are told by.
const letter = 'r'

// The decisions, as they stand in journals.
const (
	allow  = "allow"
	forbid = "forbid"
	ignore = "ignore"
	hear   = "hear"
	off    = "off"
	on     = "on"
	wait   = "wait"
	call   = "call" // nobody's: an unknown group called
)

// record is one decision.
type record struct {
	Op      string        `json:"op"`
	Group   string        `json:"g,omitempty"` // with Person, the chat of a command
	Person  string        `json:"p,omitempty"`
	Command string        `json:"c,omitempty"`
	Wait    time.Duration `json:"d,omitempty"` // less than 0 takes it back
}

func (c record) data() []byte {
	raw, _ := json.Marshal(c) // words and a number: it cannot fail
	return raw
}

func (c record) encode() store.Record { return store.Record{Book: letter, Data: c.data()} }

// Letter implements store.Book.
func (r *Rules) Letter() byte { return letter }

// Apply implements store.Book. It changes what holds in place: nobody asks yet, and
// a copy for each record would take long.
func (r *Rules) Apply(data []byte) error {
	var c record
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	r.deciding.Lock()
	defer r.deciding.Unlock()
	if c.Op == call {
		r.called.add(c.Group)
		return nil
	}
	d := r.now.Load()
	changes, err := d.changedBy(c)
	if err != nil {
		return err
	}
	if changes {
		d.take(c)
	}
	if c.Op == allow {
		r.called.remove(c.Group)
	}
	return nil
}

// Dump implements store.Book. While it takes its copy nothing is decided, so it
// has no decision that may still fail.
func (r *Rules) Dump(add func(data []byte) error) error {
	r.deciding.Lock()
	d := r.now.Load()
	r.mu.RLock()
	called := slices.Clone(r.called.order)
	r.mu.RUnlock()
	r.deciding.Unlock()
	for c := range d.records {
		if err := add(c.data()); err != nil {
			return err
		}
	}
	for _, group := range called {
		if err := add(record{Op: call, Group: group}.data()); err != nil {
			return err
		}
	}
	return nil
}
