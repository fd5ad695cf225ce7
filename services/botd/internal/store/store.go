// Package store keeps what the bot must not forget, in one journal: books, each
// of which keeps one kind of state and knows how to write it down.
//
// A book changes its memory first and has the change written then, so that what
// replaces a long journal (the books' own account of what they know) never
// misses what the journal says. Records that one Append writes are there
// together after a crash or not at all, also where such an account was taken
// between a change and its Append, if both lie within one Step: so a command's
// cooldown begins with its answer. What the journal does not have yet when power
// is lost (50 ms, or nothing with Options.Always) is as if it had not happened.
//
// Without a folder nothing is written, and the books forget all with the process.
package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
)

const (
	segmentBytes  = 8 << 20 // bounds a record
	maxBytes      = 64 << 20
	snapshotBytes = 64 << 20

	// tidyBytes is how much the journal may grow before the books' account
	// replaces it.
	tidyBytes = 16 << 20

	// tidyEvery is how long what the books have forgotten may stay on disk.
	tidyEvery = time.Hour
)

// Book keeps one kind of state.
type Book interface {
	// Letter is what the book's records are told by in the journal. It never
	// changes.
	Letter() byte

	// Apply takes in one record that Dump or Append wrote. It is called by Open
	// alone, in the order of writing; data is valid until it returns.
	Apply(data []byte) error

	// Dump adds records that say all that the book knows. Others change the
	// book meanwhile; what they change is written behind.
	Dump(add func(data []byte) error) error
}

// Record is one change of a book.
type Record struct {
	Book byte
	Data []byte
}

// Options say where the store is.
type Options struct {
	Dir    string // "" keeps everything in memory
	Always bool   // a change is safe from a loss of power before Append returns

	// OnWrite and OnSync are the journal's, see journal.Options.
	OnWrite func(took time.Duration, bytes int, err error)
	OnSync  func(took time.Duration, bytes int64, err error)
}

// Store is safe for concurrent use once it is open.
type Store struct {
	fs      disk.FS
	options Options
	books   map[byte]Book // immutable after Open, as order
	order   []Book
	log     *journal.Log // nil in memory

	shortening sync.Mutex // held by Compact, over its writing: nobody else waits for it
	hurried    atomic.Int32
	steps      steps

	mu    sync.Mutex
	err   error     // why nothing could be written last; guarded by mu
	short time.Time // when the journal was last replaced; guarded by mu
}

// New returns a store that is not open yet, for the books to write to.
func New(fs disk.FS, o Options) *Store {
	s := &Store{fs: fs, options: o, books: make(map[byte]Book)}
	s.steps.none.L = &s.steps.mu
	return s
}

// errForeign is for a folder that is not a bot's.
var errForeign = errors.New("a record is none of ours, the folder may be another program's")

// Open reads everything back into the books, before anybody uses them.
func (s *Store) Open(books ...Book) error {
	for _, b := range books {
		if s.books[b.Letter()] != nil {
			panic(fmt.Sprintf("store: two books have the letter %c", b.Letter()))
		}
		s.books[b.Letter()] = b
	}
	s.order = books
	if s.options.Dir == "" {
		return nil
	}
	log, err := journal.Open(s.fs, s.options.Dir, journal.Options{
		SegmentBytes:  segmentBytes,
		MaxBytes:      maxBytes,
		SnapshotBytes: snapshotBytes,
		Always:        s.options.Always,
		OnWrite:       s.options.OnWrite,
		OnSync:        s.options.OnSync,
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	if err := s.replay(log); err != nil {
		return errors.Join(fmt.Errorf("read the store: %w", err), log.Close())
	}
	s.log, s.short = log, time.Now()
	return nil
}

func (s *Store) replay(log *journal.Log) error {
	at, err := log.Snapshot(s.apply)
	if err != nil {
		return err
	}
	return log.Scan(at, func(_ journal.Pos, raw []byte) error { return s.apply(raw) })
}

func (s *Store) apply(raw []byte) error {
	if len(raw) == 0 || s.books[raw[0]] == nil {
		return errForeign
	}
	if err := s.books[raw[0]].Apply(raw[1:]); err != nil {
		return fmt.Errorf("%w: book %c: %w", errForeign, raw[0], err)
	}
	return nil
}

// Append writes records, all or none. In memory it does nothing. journal.ErrTooLarge
// is about these, any other error about all: until one is written, or Tidy
// helped, Err returns it.
func (s *Store) Append(records ...Record) error {
	if s.log == nil || len(records) == 0 {
		return nil
	}
	size := 0
	for _, r := range records {
		size += 1 + len(r.Data)
	}
	buf, raws := make([]byte, 0, size), make([][]byte, len(records))
	for i, r := range records {
		from := len(buf)
		buf = append(append(buf, r.Book), r.Data...)
		raws[i] = buf[from:]
	}
	_, err := s.log.Append(raws...)
	if err != nil {
		err = fmt.Errorf("write to the store: %w", err)
	}
	if !errors.Is(err, journal.ErrTooLarge) {
		s.note(err)
	}
	return err
}

func (s *Store) note(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
}

// Sync returns when everything that was appended before is safe from a loss of
// power. The end of ctx ends the wait, not the sync.
func (s *Store) Sync(ctx context.Context) error {
	if s.log == nil {
		return nil
	}
	return s.log.Sync(ctx)
}

// Durable reports whether the store outlives the process.
func (s *Store) Durable() bool { return s.options.Dir != "" }

// TornBytes is how much of the journal's end a crash had half written; Open
// has cut it off.
func (s *Store) TornBytes() int64 {
	if s.log == nil {
		return 0
	}
	return s.log.Recovered().Bytes
}

// Stats are the journal's, zeros in memory.
func (s *Store) Stats() journal.Stats {
	if s.log == nil {
		return journal.Stats{}
	}
	return s.log.Stats()
}

// Err is why the store can take nothing, nil while it can. Room, or Tidy, may
// help; where Broken is not nil either nothing does.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.log != nil {
		return s.log.Stats().Broken // a sync may have failed since the last write
	}
	return s.err
}

// Broken is why the store takes nothing until the next start: nil, or a
// journal.ErrBroken. Nobody knows then what is on the disk, so the process has to
// end, and whoever supervises it starts one that goes on from what is there.
func (s *Store) Broken() error { return s.Stats().Broken }

// Close ends the store; what was written is safe afterwards.
func (s *Store) Close() error {
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}
