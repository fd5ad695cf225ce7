package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// leastRead is what Read fetches at first into a buffer that is smaller.
const leastRead = 1 << 10

// Read returns the record at a position that Append or Scan told, in buf if its
// capacity is 1 KiB at least and suffices for the record and 8 bytes more. It
// fails with ErrDropped for what Drop removed and with a CorruptError where no
// intact record begins.
func (l *Log) Read(p Pos, buf []byte) ([]byte, error) {
	record, err := l.read(p, buf)
	if err != nil {
		return nil, fmt.Errorf("read position %d of journal %s: %w", p, l.dir, err)
	}
	return record, nil
}

func (l *Log) read(p Pos, buf []byte) ([]byte, error) {
	s, size, err := l.segmentAt(p)
	if err != nil {
		return nil, err
	}
	record, err := l.readFrom(s, size, p, buf)
	return record, cmp.Or(err, l.release(s))
}

// segmentAt returns the segment that a position is in, held, and its size now.
func (l *Log) segmentAt(p Pos) (*segment, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, 0, ErrClosed
	}
	if p >= l.end {
		return nil, 0, fmt.Errorf("nothing is written there: the log ends at %d", l.end)
	}
	i := l.find(p)
	if i < 0 {
		return nil, 0, fmt.Errorf("%w: the log begins at %d", ErrDropped, l.segments[0].base)
	}
	s := l.segments[i]
	return s.hold(), s.size, nil
}

func (l *Log) readFrom(s *segment, size int64, p Pos, buf []byte) ([]byte, error) {
	off := int64(p - s.base)
	left := size - off
	if off < headBytes || left < frameBytes {
		return nil, noRecord(s.name, off)
	}
	if cap(buf) < leastRead {
		buf = make([]byte, leastRead)
	}
	buf = buf[:min(int64(cap(buf)), left)]
	if err := readFull(s.file, buf, off); err != nil {
		return nil, err
	}
	n, ok := frameSize(binary.LittleEndian.Uint32(buf[4:]))
	if !ok || n > left {
		return nil, noRecord(s.name, off)
	}
	if int64(len(buf)) < n {
		buf = make([]byte, n)
		if err := readFull(s.file, buf, off); err != nil {
			return nil, err
		}
	}
	f, ok := l.seed.parse(p, buf[:n])
	if !ok || f.isMark() {
		return nil, noRecord(s.name, off)
	}
	// To the front, so that the caller keeps the whole of its buffer.
	return buf[:copy(buf, f.body)], nil
}

func noRecord(file string, off int64) error {
	return &CorruptError{File: file, Offset: off, Reason: "no intact record begins there"}
}

// Scan calls fn with the records from a position on, in order, up to what was
// written when it was called. The position is that of a record, one that End or
// Snapshot returned, or 0 for the beginning. A record is valid until fn returns.
// An error of fn ends the scan and is returned as it is. If Drop takes what is
// still to be read, Scan fails with ErrDropped; for damage, with a CorruptError.
func (l *Log) Scan(from Pos, fn func(p Pos, record []byte) error) error {
	l.mu.Lock()
	end := l.end
	if from == 0 && len(l.segments) > 0 {
		from = l.segments[0].base
	}
	l.mu.Unlock()
	var r frames
	for from < end {
		s, size, err := l.segmentAt(from)
		if err == nil {
			r = frames{
				file: s.file, seed: l.seed, base: s.base, buf: r.buf[:0],
				off: max(int64(from-s.base), headBytes),
				end: min(size, int64(end-s.base)),
			}
			err = cmp.Or(scanFrames(&r, s.name, fn), l.release(s))
		}
		if failed, ok := err.(callbackError); ok {
			return failed.error
		}
		if err != nil {
			return fmt.Errorf("scan journal %s: %w", l.dir, err)
		}
		from = s.base + Pos(r.end)
	}
	return nil
}

// callbackError is an error that is the caller's own.
type callbackError struct{ error }

func scanFrames(r *frames, name string, fn func(p Pos, record []byte) error) error {
	for {
		p := r.pos()
		f, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errNoFrame):
			return noRecord(name, r.off)
		case err != nil:
			return err
		case f.isMark():
			continue
		}
		if err := fn(p, f.body); err != nil {
			return callbackError{err}
		}
	}
}
