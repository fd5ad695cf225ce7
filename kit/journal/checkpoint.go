package journal

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"quartet/kit/journal/disk"
)

// Checkpoint makes the records that write adds stand for everything before a
// position, in one step: after a crash, Snapshot returns either these or what it
// returned before. The position is one that End or Rotate returned, not before that
// of the last checkpoint. It is for the owner to see that the records say what all
// records before it said, also those whose Append has only just returned.
//
// While write runs, the log can be used. The log itself is left as it is: records
// before the position can be read until Drop takes them.
//
// It fails with ErrFull beyond Options.SnapshotBytes. An error of write is
// returned as it is. After any error but ErrBroken the last checkpoint stands.
func (l *Log) Checkpoint(at Pos, write func(add func(record []byte) error) error) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	err := l.checkpoint(at, write)
	if failed, ok := err.(callbackError); ok {
		return failed.error
	}
	if err != nil {
		return fmt.Errorf("checkpoint of journal %s: %w", l.dir, err)
	}
	return nil
}

func (l *Log) checkpoint(at Pos, write func(add func(record []byte) error) error) error {
	if err := l.mayCheckpoint(at); err != nil {
		return err
	}
	// So that the log never ends before its checkpoint.
	if err := l.syncTo(at); err != nil {
		return err
	}
	s, err := l.writeSnapshot(at, write)
	if err != nil {
		return err
	}
	if err := l.fs.Rename(l.path(tempName), s.name); err != nil {
		return errors.Join(err, s.file.Close(), l.fs.Remove(l.path(tempName)))
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.breakWith(fmt.Errorf("sync folder: %w", err))
		return errors.Join(l.broken, s.file.Close())
	}
	l.mu.Lock()
	old := l.snapshot
	l.snapshot = s
	l.mu.Unlock()
	if old == nil {
		return nil
	}
	err = l.release(old)
	if old.name != s.name {
		err = errors.Join(err, l.fs.Remove(old.name))
	}
	return err
}

func (l *Log) mayCheckpoint(at Pos) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refused(); err != nil {
		return err
	}
	if at > l.end {
		return fmt.Errorf("position %d is beyond the end, %d", at, l.end)
	}
	if l.snapshot != nil && at < l.snapshot.base {
		return fmt.Errorf("position %d is before the last checkpoint, %d", at, l.snapshot.base)
	}
	return nil
}

// writeSnapshot makes a synced file under the name tempName; its segment bears
// the name that it is to get. On an error nothing is left.
func (l *Log) writeSnapshot(at Pos, write func(add func(record []byte) error) error) (*segment, error) {
	f, err := l.fs.Create(l.path(tempName))
	if err != nil {
		return nil, err
	}
	w := snapshotWriter{file: f, limit: l.options.SnapshotBytes}
	err = w.run(at, write)
	if err != nil {
		// What stays is overwritten by the next one, or removed by Open.
		_, _ = f.Close(), l.fs.Remove(l.path(tempName))
		return nil, err
	}
	return &segment{name: l.path(fileName(at, snapshotSuffix)), base: at, file: f, size: w.off, refs: 1}, nil
}

// snapshotWriter writes one file. Positions in it are offsets.
type snapshotWriter struct {
	file  disk.File
	limit int64
	seed  seed
	off   int64  // what is written
	buf   []byte // what is not
	count int64  // of records
	err   error  // of the file, the first
}

func (w *snapshotWriter) run(at Pos, write func(add func(record []byte) error) error) error {
	id := newID()
	w.seed = newSeed(snapshotMagic, id)
	if _, err := w.file.WriteAt(head{snapshotMagic, id, at, at}.bytes(), 0); err != nil {
		return err
	}
	w.off = headBytes
	err := write(w.add)
	if w.err != nil {
		return w.err
	}
	if err != nil {
		return callbackError{err}
	}
	mark := make([]byte, markBytes)
	putMark(mark, w.count)
	w.buf = append(w.buf, mark...)
	if err := w.flush(); err != nil {
		return err
	}
	return w.file.Sync()
}

func (w *snapshotWriter) add(record []byte) error {
	if w.err == nil && int64(len(record)) > int64(lengthMask) {
		w.err = ErrTooLarge
	}
	size := w.off + int64(len(w.buf)) + frameBytes + int64(len(record)) + markBytes
	if w.err == nil && size > w.limit {
		w.err = fmt.Errorf("%w: more than %d bytes", ErrFull, w.limit)
	}
	if w.err != nil {
		return w.err
	}
	w.count++
	w.buf = appendFrame(w.buf, recordFlag, record)
	if len(w.buf) >= readAhead {
		w.err = w.flush()
	}
	return w.err
}

func (w *snapshotWriter) flush() error {
	w.seed.seal(Pos(w.off), w.buf)
	if _, err := w.file.WriteAt(w.buf, w.off); err != nil {
		return err
	}
	w.off += int64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}

// Snapshot calls fn with the records of the last checkpoint, in order, and
// returns the position from which Scan goes on: without a checkpoint, that of
// the beginning. A record is valid until fn returns. An error of fn ends it and
// is returned as it is; damage is a CorruptError.
func (l *Log) Snapshot(fn func(record []byte) error) (Pos, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return 0, fmt.Errorf("snapshot of journal %s: %w", l.dir, ErrClosed)
	}
	from := l.segments[0].base
	s := l.snapshot
	if s == nil {
		l.mu.Unlock()
		return from, nil
	}
	s.hold()
	l.mu.Unlock()
	err := cmp.Or(readSnapshot(s, fn), l.release(s))
	if failed, ok := err.(callbackError); ok {
		return 0, failed.error
	}
	if err != nil {
		return 0, fmt.Errorf("snapshot of journal %s: %w", l.dir, err)
	}
	return max(from, s.base), nil
}

func readSnapshot(s *segment, fn func(record []byte) error) error {
	h, err := readHead(s.file, s.size)
	if err != nil {
		return err
	}
	if h.magic != snapshotMagic || h.base != s.base {
		return &CorruptError{File: s.name, Reason: "it does not begin like a checkpoint of its name"}
	}
	r := frames{file: s.file, seed: newSeed(snapshotMagic, h.id), off: headBytes, end: s.size}
	for count := int64(0); ; count++ {
		f, err := r.next()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, errNoFrame):
			return &CorruptError{File: s.name, Offset: r.off, Reason: "no intact record of the checkpoint begins there"}
		case err != nil:
			return err
		case f.isMark() && f.mark() == count && r.off == r.end:
			return nil
		case f.isMark():
			return &CorruptError{File: s.name, Offset: r.off, Reason: "the checkpoint should end there"}
		}
		if err := fn(f.body); err != nil {
			return callbackError{err}
		}
	}
}

// newID is a number that no other log has.
func newID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
