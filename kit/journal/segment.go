package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"quartet/kit/journal/disk"
)

// segment is an open file of the log.
type segment struct {
	name string
	base Pos
	file disk.File

	size int64 // guarded by Log.mu; of the last segment the writer's
	refs int   // guarded by Log.mu; the log's own and those who read or sync
}

// Suffixes of names in the folder.
const (
	segmentSuffix  = ".log"
	snapshotSuffix = ".snap"
	tempName       = "snap.tmp" // a checkpoint that is not finished
)

func fileName(at Pos, suffix string) string { return fmt.Sprintf("%016x%s", int64(at), suffix) }

// parseName is the opposite of fileName.
func parseName(name, suffix string) (at Pos, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 16, 64)
	return Pos(n), err == nil && fileName(Pos(n), suffix) == name
}

// hold makes sure that a segment stays open. Called with l.mu held.
func (s *segment) hold() *segment {
	s.refs++
	return s
}

// release is the opposite of hold. Called without l.mu.
func (l *Log) release(s *segment) error {
	l.mu.Lock()
	s.refs--
	last := s.refs == 0
	l.mu.Unlock()
	if !last {
		return nil
	}
	return s.file.Close()
}

// find returns the index of the segment that a position is in, -1 for one
// before all. Called with l.mu held.
func (l *Log) find(p Pos) int {
	i, found := slices.BinarySearchFunc(l.segments, p, func(s *segment, p Pos) int { return cmp.Compare(s.base, p) })
	if found {
		return i
	}
	return i - 1
}

// rotate begins a new segment at the end of the log. Only the writer calls it,
// without l.mu. The segment before need not be synced: Open cuts the log where
// the first one is torn.
func (l *Log) rotate(synced Pos) error {
	s, err := l.createSegment(l.end, synced)
	if err != nil {
		return fmt.Errorf("begin segment: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = append(l.segments, s)
	l.tail = s
	l.bytes += s.size
	l.end += Pos(s.size)
	l.marked = synced
	l.newNames = true
	return nil
}

// createSegment makes a file with its head. On an error nothing is left of it,
// or the log is broken: the log may grow over the place at which it would be.
func (l *Log) createSegment(base, synced Pos) (*segment, error) {
	name := l.path(fileName(base, segmentSuffix))
	f, err := l.fs.Create(name)
	if err != nil {
		return nil, l.discard(nil, name, err)
	}
	h := head{segmentMagic, l.id, base, synced}
	if _, err := f.WriteAt(h.bytes(), 0); err != nil {
		return nil, l.discard(f, name, err)
	}
	return &segment{name: name, base: base, file: f, size: headBytes, refs: 1}, nil
}

// discard removes what is left of a file, open or nil, that could not be made
// because of err. A crash must not bring it back in the middle of what was
// synced meanwhile.
func (l *Log) discard(f disk.File, name string, err error) error {
	var undo error
	if f != nil {
		undo = f.Close()
	}
	if removed := l.fs.Remove(name); !errors.Is(removed, fs.ErrNotExist) {
		undo = cmp.Or(undo, removed, l.fs.SyncDir(l.dir))
	}
	if undo == nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breakWith(fmt.Errorf("%w, and the unfinished file stays: %w", err, undo))
	return l.broken
}

// Rotate begins a new segment, so that Drop can take all that was written
// before, and returns the position at which it begins: as End does, but nothing
// that was written before shares a segment with what comes after. A segment
// without a record stays the last one.
func (l *Log) Rotate() (Pos, error) {
	at, err := l.rotateIf(func() bool { return l.last > l.tail.base+headBytes })
	if err != nil {
		return 0, fmt.Errorf("rotate journal %s: %w", l.dir, err)
	}
	return at, nil
}

// Drop forgets the segments that hold nothing from the position on. What is
// before it but in one segment with later records stays, readable, until those
// may go too. It syncs the log when it has to, so that no crash can bring back a
// part of what was dropped; with nothing to drop it costs nothing.
func (l *Log) Drop(before Pos) error {
	if !l.droppable(before) {
		return nil
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if err := l.dropAll(before); err != nil {
		return fmt.Errorf("drop from journal %s: %w", l.dir, err)
	}
	return nil
}

// droppable says whether Drop has work. A log that is closed or broken has, to
// say so.
func (l *Log) droppable(before Pos) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused() != nil || l.spent(before) || len(l.segments) > 1 && l.segments[1].base <= before
}

// spent says whether the last segment takes no more records and could be
// dropped if it were not the last. Called with l.mu held.
func (l *Log) spent(before Pos) bool {
	return before >= l.end && l.tail.size >= l.options.SegmentBytes
}

// dropAll begins a new segment, if that is needed, when the others are gone: on a
// full disk there is room for it only then.
func (l *Log) dropAll(before Pos) error {
	if err := l.dropOld(before); err != nil {
		return err
	}
	if err := l.rotateSpent(before); err != nil {
		return err
	}
	return l.dropOld(before)
}

func (l *Log) dropOld(before Pos) error {
	for {
		oldest, after, err := l.oldest(before)
		if err != nil || oldest == nil {
			return err
		}
		// The log must begin somewhere after a crash.
		if err := l.syncTo(after + headBytes); err != nil {
			return err
		}
		if err := l.fs.Remove(oldest.name); err != nil {
			return err
		}
		// One by one: of several names that were removed, a crash could
		// bring back some and leave a gap.
		if err := l.fs.SyncDir(l.dir); err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.breakWith(fmt.Errorf("sync folder: %w", err))
			return l.broken
		}
		l.mu.Lock()
		l.segments = slices.Delete(l.segments, 0, 1)
		l.bytes -= oldest.size
		l.mu.Unlock()
		if err := l.release(oldest); err != nil {
			return err
		}
	}
}

// oldest returns the first segment if all of it is before a position, and where
// the next one begins.
func (l *Log) oldest(before Pos) (*segment, Pos, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refused(); err != nil {
		return nil, 0, err
	}
	if len(l.segments) < 2 || l.segments[1].base > before {
		return nil, 0, nil
	}
	return l.segments[0], l.segments[1].base, nil
}

func (l *Log) rotateSpent(before Pos) error {
	_, err := l.rotateIf(func() bool { return l.spent(before) })
	return err
}

// rotateIf begins a new segment if the log, with l.mu held and nobody writing,
// is in the state that due asks for. It returns the end of the log.
func (l *Log) rotateIf(due func() bool) (Pos, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers++ // or Close would not wait
	defer l.leave()
	for l.writing {
		l.wrote.Wait()
	}
	if err := l.refused(); err != nil || !due() {
		return l.end, err
	}
	synced := l.beginWriting()
	err := l.rotate(synced)
	l.mu.Lock()
	l.endWriting()
	return l.end, err
}
