package schedule

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/store"
)

// letter is what the book's records are told by.
const letter = 's'

// record is what is known of a schedule, or that it is no more, as it stands in
// the journal.
type record struct {
	Name string `json:"n"`
	Plan string `json:"p,omitempty"`
	Last int64  `json:"t,omitempty"` // Unix milliseconds
	Gone bool   `json:"x,omitempty"`
}

func (e entry) record(name string) record {
	return record{Name: name, Plan: e.plan, Last: e.last.UnixMilli()}
}

func encode(r record) store.Record {
	raw, _ := json.Marshal(r) // words and a number: it cannot fail
	return store.Record{Book: letter, Data: raw}
}

// Letter implements store.Book.
func (b *Book) Letter() byte { return letter }

// Apply implements store.Book.
func (b *Book) Apply(data []byte) error {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if r.Name == "" || !r.Gone && r.Plan == "" {
		return errors.New("a schedule has no name, or no times")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Gone {
		delete(b.seen, r.Name)
		return nil
	}
	b.seen[r.Name] = entry{plan: r.Plan, last: time.UnixMilli(r.Last)}
	if len(b.seen) > maxRemembered {
		b.dropOldest()
	}
	return nil
}

// maxRemembered bounds what is read back. It is more than a file has: that some
// are gone may not have been written.
const maxRemembered = 2 * commandfile.MaxSchedules

// dropOldest forgets the schedule that ran the longest ago. b.mu is held.
func (b *Book) dropOldest() {
	oldest := ""
	for name, e := range b.seen {
		if oldest == "" || e.last.Before(b.seen[oldest].last) {
			oldest = name
		}
	}
	delete(b.seen, oldest)
}

// Dump implements store.Book.
func (b *Book) Dump(add func(data []byte) error) error {
	b.mu.Lock()
	var all []store.Record
	for _, name := range slices.Sorted(maps.Keys(b.seen)) {
		all = append(all, encode(b.seen[name].record(name)))
	}
	b.mu.Unlock()
	for _, r := range all {
		if err := add(r.Data); err != nil {
			return err
		}
	}
	return nil
}
