// Package spill keeps on disk the messages that wait behind a full backlog, and
// gives them back in the order in which they came.
//
// A message that was pushed comes again after a kill, and after a loss of power
// once it is synced (50 ms, or at once with Options.Always). It comes until the
// spill has forgotten it, and that is never before Options.Safe said that who
// took it has it: so after a restart some come a second time, and it is for the
// ledger to tell which. What was forgotten is on no disk, which may take until
// half a segment was read, or nothing waits for a moment.
//
// Memory has a number for each person who waits, and some hundred KiB of
// messages read ahead; nothing else grows with what is on the disk.
package spill

import (
	"bytes"
	"context"
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
	// segments is of how many files the spill consists when it is full: the
	// unit in which space comes back, and the most that one message may take.
	segments    = 8
	mostSegment = 8 << 20

	// leastBytes is the least that MaxBytes may be.
	leastBytes = 256 << 10
)

// ErrFull is returned by Push for what would exceed Options.MaxBytes.
var ErrFull = journal.ErrFull

// errForeign is for a folder that is not a spill.
var errForeign = errors.New("a record is no message, the folder may be another program's")

// Options say how much the spill may take, and how safe it is.
type Options struct {
	MaxBytes int64 // on disk, at least 256 KiB; a message may take an eighth
	Always   bool  // a message is safe from a loss of power before Push returns

	// Safe returns when whoever got messages from Next has them safe from a
	// loss of power. It is called by Next before it forgets some. Nil is for
	// who does not mind.
	Safe func(ctx context.Context) error

	// OnWrite and OnSync are the journal's, see journal.Options.
	OnWrite func(took time.Duration, bytes int, err error)
	OnSync  func(took time.Duration, bytes int64, err error)
}

// Taken is a message and when it was taken.
type Taken struct {
	Message envelope.Message
	At      time.Time
}

// Spill is safe for concurrent use.
type Spill struct {
	log     *journal.Log
	options Options
	segment int64
	more    chan struct{} // something was pushed since Next looked
	closed  chan struct{}
	turn    chan struct{} // held by Next
	reader  reader        // owned by who holds turn

	mu      sync.Mutex
	waiting map[string]int // of each person; guarded by mu, as all below
	total   int
	closing sync.Once
}

// Open opens a spill in a folder of its own, with what an earlier life left in
// it.
func Open(fs disk.FS, dir string, o Options) (*Spill, error) {
	if o.MaxBytes < leastBytes {
		return nil, fmt.Errorf("open the spill: it may take %d bytes; give it at least %d", o.MaxBytes, leastBytes)
	}
	s := &Spill{
		options: o,
		segment: min(o.MaxBytes/segments, mostSegment),
		more:    make(chan struct{}, 1),
		closed:  make(chan struct{}),
		turn:    make(chan struct{}, 1),
		waiting: make(map[string]int),
	}
	log, err := journal.Open(fs, dir, journal.Options{
		SegmentBytes: s.segment,
		MaxBytes:     o.MaxBytes,
		Always:       o.Always,
		OnWrite:      o.OnWrite,
		OnSync:       o.OnSync,
	})
	if err != nil {
		return nil, fmt.Errorf("open the spill: %w", err)
	}
	s.log = log
	if err := s.countAll(); err != nil {
		return nil, errors.Join(fmt.Errorf("read the spill: %w", err), log.Close())
	}
	s.reader.forgotten = log.Stats().Oldest
	return s, nil
}

// countAll counts what an earlier life left.
func (s *Spill) countAll() error {
	return s.log.Scan(0, func(_ journal.Pos, raw []byte) error {
		taken, err := decode(raw)
		if err == nil {
			s.count(taken.Message.Sender, 1)
		}
		return err
	})
}

// Push puts a message behind all others. It fails with ErrFull if there is no
// room; after any error the message is not there.
func (s *Spill) Push(m *envelope.Message, at time.Time) error {
	raw, err := encode(m, at)
	if err != nil {
		return err
	}
	s.count(m.Sender, 1) // before Next can find it
	if _, err := s.log.Append(raw); err != nil {
		s.count(m.Sender, -1)
		return fmt.Errorf("write to the spill: %w", err)
	}
	select {
	case s.more <- struct{}{}:
	default:
	}
	return nil
}

func (s *Spill) count(sender string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += n
	if s.waiting[sender] += n; s.waiting[sender] == 0 {
		delete(s.waiting, sender)
	}
}

// Waiting is how many messages of one person are in the spill.
func (s *Spill) Waiting(sender string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[sender]
}

// Len is how many messages are in the spill.
func (s *Spill) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Stats are the journal's. What was read and is not forgotten yet counts in its
// Bytes.
func (s *Spill) Stats() journal.Stats { return s.log.Stats() }

// Broken is why nothing can be pushed until the next start: nil, or a
// journal.ErrBroken.
func (s *Spill) Broken() error { return s.log.Stats().Broken }

// Close ends the spill, and Next with journal.ErrClosed; what waits is there at
// the next start.
func (s *Spill) Close() error {
	s.closing.Do(func() { close(s.closed) })
	return s.log.Close()
}

// kept is a message as it stands in the journal.
type kept struct {
	At      int64             `json:"at"` // when it was taken, Unix milliseconds
	Message *envelope.Message `json:"m"`
}

func encode(m *envelope.Message, at time.Time) ([]byte, error) {
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false) // it would make six bytes of a "<"
	if err := e.Encode(kept{at.UnixMilli(), m}); err != nil {
		return nil, fmt.Errorf("encode a message for the spill: %w", err)
	}
	return raw.Bytes(), nil
}

func decode(raw []byte) (Taken, error) {
	var k kept
	if err := json.Unmarshal(raw, &k); err != nil {
		return Taken{}, fmt.Errorf("%w: %w", errForeign, err)
	}
	if k.Message == nil {
		return Taken{}, errForeign
	}
	return Taken{*k.Message, time.UnixMilli(k.At)}, nil
}
