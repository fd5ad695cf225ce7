package logs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// maxQueued is how many bytes wait for a writer at most.
const maxQueued = 256 << 10

// line is what one record has become.
type line struct {
	level slog.Level
	text  []byte
}

// queue holds lines until they are written.
type queue struct {
	write func(line) error
	more  chan struct{} // something is in lines, or closed was set
	done  chan struct{} // closed when the writer has ended
	base  slog.Handler  // for the queue's own records

	mu      sync.Mutex   // guards what follows
	scratch bytes.Buffer // what a record is formatted into
	lines   []line
	bytes   int
	lost    int // not told of yet
	closed  bool
}

func (q *queue) start(base slog.Handler) {
	q.base, q.more, q.done = base, make(chan struct{}, 1), make(chan struct{})
	go q.run()
}

// put formats a record and queues it, if there is room.
func (q *queue) put(ctx context.Context, to slog.Handler, r slog.Record) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.bytes >= maxQueued {
		q.lost++
		q.signal() // nothing else may come that would tell of it
		return nil
	}
	if err := q.add(ctx, to, r); err != nil {
		return err
	}
	q.signal()
	return nil
}

// add formats a record, which goes into scratch, and appends it. The caller
// holds mu.
func (q *queue) add(ctx context.Context, to slog.Handler, r slog.Record) error {
	q.scratch.Reset()
	if err := to.Handle(ctx, r); err != nil {
		return err
	}
	q.lines = append(q.lines, line{r.Level, bytes.Clone(q.scratch.Bytes())})
	q.bytes += q.scratch.Len()
	return nil
}

func (q *queue) signal() {
	select {
	case q.more <- struct{}{}:
	default: // the writer will look anyway
	}
}

// run writes until the queue is closed and empty.
func (q *queue) run() {
	defer close(q.done)
	for range q.more {
		lines, closed := q.take()
		for _, l := range lines {
			err := q.write(l)
			q.mu.Lock()
			q.bytes -= len(l.text)
			if err != nil { // as good as no room
				q.lost++
			}
			q.mu.Unlock()
		}
		if closed {
			return
		}
	}
}

// take takes all lines, and the one that tells how many were lost before.
func (q *queue) take() (lines []line, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lost > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines dropped: they came faster than they could be written", 0)
		r.AddAttrs(slog.Int("lines", q.lost))
		if q.add(context.Background(), q.base, r) == nil {
			q.lost = 0
		}
	}
	lines, q.lines = q.lines, nil
	return lines, q.closed
}

// close lets the writer finish, for as long as ctx lasts.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write the rest of the log: %w", context.Cause(ctx))
	}
}
