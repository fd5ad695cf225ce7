// Package heard remembers when Signal was last heard of, so that a bot that was
// killed can tell afterwards in which time frames may have been lost.
package heard

import (
	"encoding/json"
	"sync"
	"time"

	"quartet/services/botd/internal/store"
)

// letter is what the book's records are told by.
const letter = 'h'

// Book is a store.Book. It is safe for concurrent use.
type Book struct {
	store *store.Store

	mu   sync.Mutex
	last int64 // Unix milliseconds, 0 for never; guarded by mu
}

// New returns a book that writes to w.
func New(w *store.Store) *Book { return &Book{store: w} }

type record struct {
	Last int64 `json:"t"` // Unix milliseconds
}

// Last is when Signal was last heard of by any life of the bot, the zero time for
// never.
func (b *Book) Last() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == 0 {
		return time.Time{}
	}
	return time.UnixMilli(b.last)
}

// Note writes down that Signal was heard of. An earlier time than the last is
// none: clocks are turned back. But if the last is yet to come the clock was
// ahead, and every gap until then would be none.
func (b *Book) Note(at time.Time) error {
	ms := at.UnixMilli()
	b.mu.Lock()
	if ahead := b.last > time.Now().UnixMilli(); ms == b.last || ms < b.last && !ahead {
		b.mu.Unlock()
		return nil
	}
	b.last = ms
	b.mu.Unlock()
	return b.store.Append(store.Record{Book: letter, Data: encode(ms)})
}

func encode(ms int64) []byte {
	raw, _ := json.Marshal(record{ms}) // a number: it cannot fail
	return raw
}

// Letter implements store.Book.
func (b *Book) Letter() byte { return letter }

// Apply implements store.Book.
func (b *Book) Apply(data []byte) error {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = r.Last // the last that was written, also where it is earlier: see Note
	return nil
}

// Dump implements store.Book.
func (b *Book) Dump(add func(data []byte) error) error {
	b.mu.Lock()
	last := b.last
	b.mu.Unlock()
	if last == 0 {
		return nil
	}
	return add(encode(last))
}
