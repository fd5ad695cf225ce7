package store

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Tidy replaces a journal that has grown long, or that was not replaced for an
// hour, by what the books know: what they forgot is not to stay on disk because
// little else is written. When nothing could be written last it does so too:
// where that works, others do.
func (s *Store) Tidy() error {
	if s.log == nil || s.log.Stats().Bytes < tidyBytes && s.Err() == nil && time.Since(s.shortened()) < tidyEvery {
		return nil
	}
	return s.replace(s.rest)
}

// shortened is when the journal was last replaced, or when it was opened.
func (s *Store) shortened() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.short
}

// Compact does so however short the journal is: what the books had forgotten
// when it was called is on no disk when it returns without an error.
func (s *Store) Compact() error {
	if s.log == nil {
		return nil
	}
	s.hurried.Add(1) // a Tidy that goes on hurries from here on too
	defer s.hurried.Add(-1)
	return s.replace(func() {})
}

const (
	restAfter = 64 // records of an account
	restFor   = time.Millisecond
)

// rest leaves the processor to whoever is answered while Tidy works: an account
// of 80,000 messages is a third of a second of it. It does not while somebody
// waits for Compact, or the journal becomes full.
func (s *Store) rest() {
	if s.hurried.Load() == 0 && s.log.Stats().Bytes < maxBytes/2 {
		time.Sleep(restFor)
	}
}

func (s *Store) replace(rest func()) error {
	s.shortening.Lock()
	defer s.shortening.Unlock()
	if err := s.compact(rest); err != nil {
		return fmt.Errorf("shorten the store: %w", err)
	}
	s.note(nil)
	s.mu.Lock()
	s.short = time.Now()
	s.mu.Unlock()
	return nil
}

func (s *Store) compact(rest func()) error {
	// The books are ahead of the journal, so they have everything before this.
	// What others write from now on is in other files, which stay.
	at, err := s.log.Rotate()
	if err != nil {
		return err
	}
	err = s.log.Checkpoint(at, func(add func([]byte) error) error {
		for _, b := range s.order {
			if err := dump(b, rest, add); err != nil {
				return err
			}
		}
		// One book may have told what another had not yet, of one step. The
		// journal has both before the account counts, on the disk too.
		s.steps.wait()
		return s.log.Sync(context.Background())
	})
	if err != nil {
		return err
	}
	return s.log.Drop(at)
}

func dump(b Book, rest func(), add func([]byte) error) error {
	var buf []byte
	count := 0
	return b.Dump(func(data []byte) error {
		if count++; count%restAfter == 0 {
			rest()
		}
		buf = append(append(buf[:0], b.Letter()), data...)
		return add(buf)
	})
}

// steps are the changes of books that are not in the journal yet. Who waits for
// those that go on waits for no later ones.
type steps struct {
	mu    sync.Mutex
	going [2]int // guarded by mu, as all below; those before the last wait, and since
	now   int    // which of them new ones count in
	none  sync.Cond
}

// Step begins a change of several books, before the first of them changes its
// memory; done ends it, after the Append of their records. Steps may be nested.
// Nobody waits for one but Compact, which is not to be called within a step.
func (s *Store) Step() (done func()) {
	if s.log == nil {
		return func() {}
	}
	t := &s.steps
	t.mu.Lock()
	n := t.now
	t.going[n]++
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		if t.going[n]--; t.going[n] == 0 {
			t.none.Broadcast()
		}
		t.mu.Unlock()
	}
}

// wait returns when the steps that go on have ended. One goroutine at a time
// calls it.
func (t *steps) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.now
	t.now = 1 - n
	for t.going[n] > 0 {
		t.none.Wait()
	}
}
