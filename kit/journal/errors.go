package journal

import (
	"errors"
	"fmt"
	"path/filepath"
)

var (
	// ErrClosed is returned for every call after Close.
	ErrClosed = errors.New("closed")

	// ErrFull is returned by Append for records that would exceed
	// Options.MaxBytes, and by Checkpoint beyond Options.SnapshotBytes. Nothing
	// was written; Checkpoint and Drop make room.
	ErrFull = errors.New("full")

	// ErrTooLarge is returned by Append for records that together can never be
	// in one segment.
	ErrTooLarge = errors.New("larger than a segment")

	// ErrDropped is returned for positions before the oldest segment.
	ErrDropped = errors.New("dropped")

	// ErrBroken is returned by all that writes after a sync failed, or a write
	// that could not be undone. It says which and why. It stays: the owner has
	// to end, and to go on from what the next Open finds.
	ErrBroken = errors.New("unusable until the next start")
)

// CorruptError says that something that was synced is not there any more: the
// disk, a person or another program changed it. The journal goes on only after
// somebody decided what to do. Read returns it too for a position at which no
// record begins.
type CorruptError struct {
	File   string
	Offset int64 // in File, of the first byte that is not what it must be
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged at offset %d: %s. Restore the folder from a backup; or %s", e.File, e.Offset, e.Reason, e.advice())
}

// advice is what to do without a backup. What comes before the damage stays, and
// so does a checkpoint that stands for no more than that.
func (e *CorruptError) advice() string {
	base, ok := parseName(filepath.Base(e.File), segmentSuffix)
	if !ok {
		return "give up all that only this checkpoint has: copy the folder, and remove this file"
	}
	return fmt.Sprintf("give up all records from there on: "+
		"copy the folder, remove the .log files whose names sort after this one and the .snap files whose names sort after %s, "+
		"and cut this one (truncate -s %d, or remove it if that is 0)",
		fileName(base+Pos(e.Offset), snapshotSuffix), e.Offset)
}

// refused is why nothing can be written, if so. Called with l.mu held.
func (l *Log) refused() error {
	switch {
	case l.closed:
		return ErrClosed
	case l.broken != nil:
		return l.broken
	}
	return nil
}

// breakWith makes err the reason why the log is unusable, if it is the first.
// Called with l.mu held.
func (l *Log) breakWith(err error) {
	if l.broken == nil {
		l.broken = fmt.Errorf("%w (what was appended after position %d may be lost): %w", ErrBroken, l.synced, err)
	}
	l.syncDone.Broadcast()
}
