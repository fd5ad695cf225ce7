package journal

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"quartet/kit/journal/disk"
)

// recover finds the files, decides where the log ends, and leaves it synced. It
// runs before anybody else has the Log, so it holds no lock.
//
// The log ends at the first thing that is not what it must be. What lies behind
// that is torn if it was never synced, and is cut off; else the log is damaged.
// Marks tell: the largest one anywhere, also behind the break, was true once.
//
// Segments that a checkpoint stands for were synced before it was made. They are
// not read here; Read and Scan check what they return.
func (l *Log) recover() error {
	if err := l.findFiles(); err != nil {
		return err
	}
	if fresh, err := l.isFresh(); err != nil {
		return err
	} else if fresh {
		return l.start()
	}
	if err := l.readHeads(); err != nil {
		return err
	}
	first := 0
	if l.snapshot != nil {
		first = max(l.find(l.snapshot.base), 0)
	}
	if err := l.follow(first); err != nil {
		return err
	}
	for _, s := range l.segments {
		l.bytes += s.size
	}
	for _, s := range l.segments[first:] {
		if err := s.file.Sync(); err != nil {
			return err
		}
	}
	l.synced = l.end
	return l.fs.SyncDir(l.dir)
}

// findFiles opens the segments and the newest checkpoint, and removes what an
// unfinished checkpoint left.
func (l *Log) findFiles() error {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return err
	}
	var old []string
	for _, name := range names { // in order, thus by position
		if base, ok := parseName(name, segmentSuffix); ok {
			s, err := l.openFile(name, base)
			if err != nil {
				return err
			}
			l.segments = append(l.segments, s)
		}
		if at, ok := parseName(name, snapshotSuffix); ok {
			s, err := l.openFile(name, at)
			if err != nil {
				return err
			}
			if l.snapshot != nil {
				old = append(old, l.snapshot.name)
				if err := l.snapshot.file.Close(); err != nil {
					return err
				}
			}
			l.snapshot = s
		}
		if name == tempName {
			old = append(old, l.path(name))
		}
	}
	for _, name := range old {
		if err := l.fs.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) openFile(name string, base Pos) (*segment, error) {
	f, err := l.fs.Open(l.path(name))
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &segment{name: l.path(name), base: base, file: f, size: size, refs: 1}, nil
}

// isFresh says whether the journal has yet to be made. An earlier try may have
// left a first segment, torn in its head: records come only after that is synced.
func (l *Log) isFresh() (bool, error) {
	if l.snapshot != nil || len(l.segments) > 1 {
		return false, nil
	}
	if len(l.segments) == 0 {
		return true, nil
	}
	s := l.segments[0]
	if s.base != 0 || s.size > headBytes {
		return false, nil
	}
	h, err := readHead(s.file, s.size)
	if err != nil || h.magic == segmentMagic {
		return false, err
	}
	l.segments = nil
	return true, s.file.Close()
}

// start makes the first segment.
func (l *Log) start() error {
	l.id = newID()
	l.seed = newSeed(segmentMagic, l.id)
	s, err := l.createSegment(0, 0)
	if err != nil {
		return err
	}
	l.segments, l.tail, l.bytes, l.end = []*segment{s}, s, s.size, Pos(s.size)
	if err := s.file.Sync(); err != nil {
		return err
	}
	l.synced, l.marked = l.end, l.end // without a record there is nothing to say
	return l.fs.SyncDir(l.dir)
}

// readHeads learns the number of the log from the first segment, which was
// synced before there was a second one or a record.
func (l *Log) readHeads() error {
	if len(l.segments) == 0 {
		return &CorruptError{File: l.snapshot.name, Reason: "there is a checkpoint, and no log that goes on after it"}
	}
	s := l.segments[0]
	h, err := readHead(s.file, s.size)
	if err != nil {
		return err
	}
	if h.magic != segmentMagic || h.base != s.base {
		return &CorruptError{File: s.name, Reason: "it does not begin like the segment of its name"}
	}
	l.id, l.seed = h.id, newSeed(segmentMagic, h.id)
	return nil
}

// follow goes through the segments, from that number on frame by frame, to the
// end of the log, and cuts off what is behind.
func (l *Log) follow(first int) error {
	var safe Pos // the log was synced up to here
	if l.snapshot != nil {
		safe = l.snapshot.base
	}
	keep := len(l.segments) // as many segments stay
	broken := false         // the end was found, with something behind it
	end := l.segments[0].base
	for i, s := range l.segments {
		if i <= first && s.base != end {
			return l.gap(i, end)
		}
		if i < first {
			end += Pos(s.size)
			continue
		}
		valid, mark, err := l.examine(s)
		if err != nil {
			return err
		}
		safe = max(safe, mark)
		switch {
		case broken:
		case s.base != end:
			keep, broken = i, true
		case valid == 0: // not even its head
			keep, broken = i, true
		default:
			end += Pos(valid)
			if valid < s.size {
				keep, broken = i+1, true
			}
		}
	}
	return l.cutAt(keep, end, safe)
}

// examine returns how much of a segment is valid and the largest mark in it.
func (l *Log) examine(s *segment) (valid int64, safe Pos, err error) {
	r := frames{file: s.file, seed: l.seed, base: s.base, off: headBytes, end: s.size}
	h, err := readHead(s.file, s.size)
	if err != nil {
		return 0, 0, err
	}
	if h != (head{}) {
		if h.magic != segmentMagic || h.id != l.id || h.base != s.base {
			return 0, 0, &CorruptError{File: s.name, Reason: "it begins like a file of another name or another journal"}
		}
		valid, safe, err = l.readFrames(&r, h.synced)
	}
	if err != nil || valid == s.size {
		return valid, safe, err
	}
	r.off = valid
	behind, err := r.lastMark()
	return valid, max(safe, behind), err
}

// readFrames reads to the last whole Append.
func (l *Log) readFrames(r *frames, safe Pos) (valid int64, _ Pos, err error) {
	valid = headBytes
	inside := false // an Append of several records
	for {
		f, err := r.next()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, errNoFrame):
			return valid, safe, nil
		case err != nil:
			return 0, 0, err
		case f.isMark() && inside:
			return valid, safe, nil
		case f.isMark():
			l.marked = max(l.marked, Pos(f.mark()))
			safe = max(safe, Pos(f.mark()))
		default:
			inside = f.isMore()
			l.last = r.pos()
		}
		if !inside {
			valid = r.off
		}
	}
}

// cutAt makes end, in the last of the segments that stay, the end of the log.
func (l *Log) cutAt(stay int, end, safe Pos) error {
	last := l.segments[stay-1]
	keep := int64(end - last.base)
	if safe > end {
		return &CorruptError{File: last.name, Offset: keep,
			Reason: fmt.Sprintf("no intact record begins there, but the log was synced up to position %d", safe)}
	}
	for _, s := range slices.Backward(l.segments[stay:]) {
		l.note(s.name, end, s.size)
		if err := errors.Join(s.file.Close(), l.fs.Remove(s.name)); err != nil {
			return err
		}
	}
	l.segments = l.segments[:stay]
	if keep < last.size {
		l.note(last.name, end, last.size-keep)
		if err := last.file.Truncate(keep); err != nil {
			return err
		}
		last.size = keep
	}
	if l.cut != (Recovery{}) {
		l.marked = 0 // the marks may be among what was cut
	}
	l.tail, l.end, l.last = last, end, min(l.last, end)
	return nil
}

func (l *Log) note(file string, at Pos, bytes int64) {
	l.cut.File, l.cut.At = file, at
	l.cut.Bytes += bytes
}

func (l *Log) gap(i int, end Pos) error {
	before := l.segments[i-1]
	return &CorruptError{File: before.name, Offset: before.size,
		Reason: fmt.Sprintf("the log should go on there, at position %d, but the next file is %s", end, l.segments[i].name)}
}

// readHead reads the head of a file: the zero head if it is none.
func readHead(f disk.File, size int64) (head, error) {
	b := make([]byte, min(size, headBytes))
	if err := readFull(f, b, 0); err != nil {
		return head{}, err
	}
	h, _ := parseHead(b)
	return h, nil
}
