package spill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quartet/kit/journal"
)

const (
	// chunkBytes and chunkCount bound what is read ahead, but for one message.
	chunkBytes = 64 << 10
	chunkCount = 256

	// idle is how long nothing waits before what was read goes from the disk
	// even where it is less than half a segment.
	idle = time.Second
)

// reader is where Next is. Whoever holds the turn owns it.
type reader struct {
	chunk []ahead     // read and not yet given
	room  []ahead     // memory for the next chunk
	at    journal.Pos // behind the chunk
	given journal.Pos // behind what was given, thus taken when Next is called
	// forgotten is where the last forgetting ended, or tried to.
	forgotten journal.Pos
	clean     bool // nothing that was taken is on the disk
}

// ahead is a message that was read ahead.
type ahead struct {
	Taken
	end journal.Pos
}

// Next returns the message that waits longest; where there is none it waits for
// one until ctx ends. By calling it again the caller, of which there is one, says
// that it has taken what it got before: from then on, and from when it is Safe,
// that may be forgotten.
// After an error nothing is lost, and Next may be tried again.
func (s *Spill) Next(ctx context.Context) (Taken, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return Taken{}, fmt.Errorf("wait for the spill: %w", context.Cause(ctx))
	}
	for {
		if ctx.Err() != nil {
			return Taken{}, fmt.Errorf("wait for the spill: %w", context.Cause(ctx))
		}
		if err := s.fill(ctx); err != nil {
			return Taken{}, err
		}
		if len(s.reader.chunk) > 0 {
			return s.give(), nil
		}
		if err := s.await(ctx); err != nil {
			return Taken{}, err
		}
	}
}

// give hands the first message of the chunk out.
func (s *Spill) give() Taken {
	r := &s.reader
	next := r.chunk[0]
	r.chunk[0] = ahead{} // it is the caller's
	r.chunk = r.chunk[1:]
	r.given, r.clean = next.end, false
	s.count(next.Message.Sender, -1)
	return next.Taken
}

// fill reads ahead if nothing is left, and forgets half a segment if so much was
// taken.
func (s *Spill) fill(ctx context.Context) error {
	r := &s.reader
	if len(r.chunk) > 0 {
		return nil
	}
	if int64(r.given-r.forgotten) >= s.segment/2 {
		if err := s.forget(ctx); err != nil {
			return err
		}
	}
	return s.read()
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

// read reads the next chunk. No lock is held: what is pushed meanwhile is
// found by the next one.
func (s *Spill) read() error {
	r := &s.reader
	r.chunk = r.room[:0]
	bytes := 0
	err := s.log.Scan(r.at, func(p journal.Pos, raw []byte) error {
		if bytes >= chunkBytes || len(r.chunk) >= chunkCount {
			return errEnough
		}
		taken, err := decode(raw)
		if err != nil {
			return err
		}
		r.at = journal.After(p, len(raw))
		r.chunk = append(r.chunk, ahead{taken, r.at})
		bytes += len(raw)
		return nil
	})
	r.room = r.chunk
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read the spill: %w", err)
	}
	return nil
}

// await returns when something may have been pushed. If that takes a while it
// first clears the disk.
func (s *Spill) await(ctx context.Context) error {
	var tired <-chan time.Time
	if !s.reader.clean {
		timer := time.NewTimer(idle)
		defer timer.Stop()
		tired = timer.C
	}
	select {
	case <-s.more:
		return nil
	case <-s.closed:
		return fmt.Errorf("wait for the spill: %w", journal.ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("wait for the spill: %w", context.Cause(ctx))
	case <-tired:
		return s.clear(ctx)
	}
}

// clear takes all that was read from the disk: the last segment too, if nothing
// came meanwhile.
func (s *Spill) clear(ctx context.Context) error {
	r := &s.reader
	end, err := s.log.Rotate()
	if err != nil {
		return fmt.Errorf("clear the spill: %w", err)
	}
	if err := s.read(); err != nil || len(r.chunk) > 0 {
		return err
	}
	// All before end was read, and given, and taken.
	r.at, r.given = end, end
	if err := s.forget(ctx); err != nil {
		return err
	}
	r.clean = true
	return nil
}

// forget drops what was taken, once it is safe elsewhere.
func (s *Spill) forget(ctx context.Context) error {
	r := &s.reader
	if s.options.Safe != nil {
		if err := s.options.Safe(ctx); err != nil {
			return fmt.Errorf("keep what came from the spill: %w", err)
		}
	}
	if err := s.log.Drop(r.given); err != nil {
		return fmt.Errorf("forget what came from the spill: %w", err)
	}
	r.forgotten = r.given
	return nil
}
