package journal

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// batch is what several callers of Append want to be written, in one buffer.
// All fields are guarded by Log.mu, except that the buffer belongs to the writer
// once the batch is not Log.pending any more.
type batch struct {
	buf  []byte // room for a mark, then frames
	refs int    // callers that still need it
	done bool
	base Pos // of the first frame after the mark, if done
	err  error
	cond sync.Cond // done, or nobody writes
}

// maxBatch bounds what callers collect for one write beyond a single Append,
// and the buffers that are kept.
const maxBatch = 1 << 20

// Append writes records, all of them or, on an error, none, and returns the
// position of the first. Those of the others follow from After. No other
// record comes between them.
//
// When it returns, the records are safe from the end of the process, and with
// Options.Always from a loss of power. A full disk (syscall.ENOSPC) fails what
// was to be written and nothing else: later calls may find room. ErrFull and
// ErrTooLarge write nothing; after ErrBroken all calls return it.
func (l *Log) Append(records ...[]byte) (Pos, error) {
	at, err := l.append(records)
	if err != nil {
		return 0, fmt.Errorf("append to journal %s: %w", l.dir, err)
	}
	return at, nil
}

// After is the position of the record that follows, in the same Append, one of
// that size at p.
func After(p Pos, size int) Pos { return p + frameBytes + Pos(size) }

func (l *Log) append(records [][]byte) (Pos, error) {
	var n int64
	for _, r := range records {
		n += frameBytes + int64(len(r))
	}
	if n > l.options.SegmentBytes-headBytes {
		return 0, ErrTooLarge
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers++
	defer l.leave()
	b, off, err := l.join(records, n)
	if err != nil {
		return 0, err
	}
	l.await(b)
	at, err := b.base+Pos(off), b.err
	l.letGo(b)
	if err == nil && l.options.Always {
		err = l.awaitSync(at + Pos(n))
	}
	return at, err
}

// leave ends a call of Append. Called with l.mu held, like all that follow
// except write.
func (l *Log) leave() {
	l.callers--
	if l.closed && l.callers == 0 {
		l.wrote.Broadcast()
	}
}

// join adds records to the pending batch and returns it, with the offset of the
// first record in it. If the batch has no room it waits for the next one.
func (l *Log) join(records [][]byte, n int64) (*batch, int, error) {
	limit := min(l.options.SegmentBytes-headBytes, maxBatch)
	for {
		if err := l.refused(); err != nil {
			return nil, 0, err
		}
		if l.bytes+n > l.options.MaxBytes {
			return nil, 0, fmt.Errorf("%w: %d bytes of %d are taken", ErrFull, l.bytes, l.options.MaxBytes)
		}
		b := l.pending
		off := len(b.buf) - markBytes
		if off > 0 && int64(off)+n > limit {
			b.refs++
			l.await(b)
			l.letGo(b)
			continue
		}
		b.refs++
		l.bytes += n
		for i, r := range records {
			flags := recordFlag
			if i < len(records)-1 {
				flags |= moreFlag
			}
			b.buf = appendFrame(b.buf, flags, r)
		}
		return b, off, nil
	}
}

// await returns when b, to which the caller holds a reference, is done. If
// nobody writes, the caller does: then b is the pending one.
func (l *Log) await(b *batch) {
	for !b.done {
		if l.writing {
			b.cond.Wait()
			continue
		}
		l.pending = l.newBatch()
		synced, broken := l.beginWriting(), l.broken
		base, n, err := Pos(0), 0, broken
		if broken == nil {
			base, n, err = l.write(b, synced)
		}
		l.mu.Lock()
		l.settle(b, base, n, err)
		l.endWriting()
	}
}

// beginWriting makes the caller the writer, once nobody is, and unlocks l.mu.
// It returns up to where the log is synced.
func (l *Log) beginWriting() Pos {
	l.writing = true
	synced := l.synced
	l.mu.Unlock()
	return synced
}

// endWriting lets the next one write.
func (l *Log) endWriting() {
	l.writing = false
	l.wrote.Broadcast()
	l.pending.cond.Signal()
}

// settle makes what was written part of the log, n bytes with a mark perhaps,
// and tells those who wait.
func (l *Log) settle(b *batch, base Pos, n int, err error) {
	asked := int64(len(b.buf) - markBytes)
	b.done, b.base, b.err = true, base, err
	b.cond.Broadcast()
	if err != nil {
		l.bytes -= asked
		return
	}
	l.bytes += int64(n) - asked
	l.grow(n)
	l.last = l.end
	l.count.writes++
	l.wantSync()
}

// grow makes n bytes at the end part of the log.
func (l *Log) grow(n int) {
	l.tail.size += int64(n)
	l.end += Pos(n)
}

// write writes a batch at the end of the log, in a new segment if it does not
// fit, after a mark if there is something new to say. Only the writer calls it,
// without l.mu. It returns the position of the first frame of the batch and how
// many bytes it wrote.
func (l *Log) write(b *batch, synced Pos) (base Pos, n int, err error) {
	buf := b.buf[markBytes:]
	if synced > l.marked {
		buf = b.buf
		putMark(buf, int64(synced))
	}
	if s := l.tail; s.size > headBytes && s.size+int64(len(buf)) > l.options.SegmentBytes {
		if err := l.rotate(synced); err != nil {
			return 0, 0, err
		}
		buf = b.buf[markBytes:] // the head says the same
	}
	base = l.end + Pos(len(buf)-len(b.buf)+markBytes)
	l.seed.seal(l.end, buf)
	if err := l.writeEnd(buf); err != nil {
		return 0, 0, err
	}
	l.marked = max(l.marked, synced)
	return base, len(buf), nil
}

// writeEnd writes at the end of the log, everything or nothing.
func (l *Log) writeEnd(buf []byte) error {
	var began time.Time
	if l.options.OnWrite != nil {
		began = time.Now()
	}
	s := l.tail
	_, err := s.file.WriteAt(buf, s.size)
	if err != nil {
		err = l.undo(s, err)
	}
	if l.options.OnWrite != nil {
		l.options.OnWrite(time.Since(began), len(buf), err)
	}
	return err
}

// undo cuts off what a failed write left. It syncs, so that a later crash cannot
// mix the remains with what is written in their place.
func (l *Log) undo(s *segment, err error) error {
	failed := s.file.Truncate(s.size)
	if failed == nil {
		failed = s.file.Sync()
	}
	if failed == nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breakWith(errors.Join(err, fmt.Errorf("undo: %w", failed)))
	return l.broken
}

// newBatch returns an empty batch.
func (l *Log) newBatch() *batch {
	last := len(l.spare) - 1
	if last < 0 {
		b := &batch{buf: make([]byte, markBytes)}
		b.cond.L = &l.mu
		return b
	}
	b := l.spare[last]
	l.spare = l.spare[:last]
	return b
}

// letGo gives back a reference to a batch that is done.
func (l *Log) letGo(b *batch) {
	if b.refs--; b.refs > 0 {
		return
	}
	if cap(b.buf) > maxBatch+markBytes {
		b.buf = make([]byte, markBytes)
	}
	b.buf, b.done, b.err = b.buf[:markBytes], false, nil
	l.spare = append(l.spare, b)
}
