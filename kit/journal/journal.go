// Package journal is an append-only log of records in a folder: what a service
// must not forget is appended before it is acted on, and read again at the next
// start, or later by its position.
//
// Guarantees:
//
//   - What Append returned for survives the end of the process at once, by
//     kill -9 too, and a loss of power once it is synced: within
//     Options.SyncEvery, or before Append returns with Options.Always.
//   - After any of these the records are a beginning of what was appended,
//     with everything that was synced in it and nothing else. The records of
//     one Append are there together or not at all. A record that Append
//     returned an error for is never there, unless the process ended meanwhile.
//   - A torn end is cut off by Open, and Recovered tells how much that was.
//     Damage in what was synced is a CorruptError that names file and offset;
//     no record is ever skipped.
//   - The folder is bounded: Append returns ErrFull instead of writing records
//     beyond Options.MaxBytes.
//   - After a sync that failed nobody knows what is on the disk. The log then
//     refuses everything but reading: ErrBroken, until the next start.
//
// Space comes back by Drop, which forgets whole segments at the beginning, and
// so that it can, Checkpoint puts records of the owner in place of the log up to
// a position: Snapshot and Scan read the state back. Rotate begins a new segment,
// for who has to know that what he forgets is on no disk.
//
// Concurrent calls of Append share a write: one of those that wait writes for
// all. A lone one is one write(2) and allocates nothing. Syncs run on one
// goroutine of the log, which sleeps while there is nothing to sync.
//
// # Files
//
// A segment is named after the position at which it begins, 16 hexadecimal
// digits and ".log". Positions count bytes over all segments. A file begins with
// a head: what it is, the number of this log, its position, up to where the log
// was synced when it was made, CRC32C. Frames follow: CRC32C, a word of length
// and flags, the record. The sum depends on the log and the position, so that a
// frame in the wrong place, or of another log, is none. Between the frames
// stand marks that say up to where everything was synced. They are how Open
// tells a torn end from damage: what lies before the last mark's position cannot
// be torn.
//
// A checkpoint is one file, position and ".snap", with the same frames. It comes
// into being under another name and is synced before it gets this one.
package journal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"quartet/kit/journal/disk"
)

// Pos is where a record is. Positions grow with every record, by more than its
// size, and are never used again. 0 is no record's; for Scan it is the beginning.
type Pos int64

// Options change how a Log uses the disk. The zero value of each is its default.
type Options struct {
	// SegmentBytes is the size of a segment, 16 MiB by default, at least 256
	// bytes, at most 512 MiB. It bounds what one Append can take, and is the
	// unit in which Drop gives space back.
	SegmentBytes int64

	// MaxBytes bounds all segments together, 256 MiB by default, or twice
	// SegmentBytes if that is more; at least twice SegmentBytes. It is for what
	// Append is given: of heads and marks less than 256 bytes may go beyond it.
	MaxBytes int64

	// SnapshotBytes bounds one checkpoint, a quarter of MaxBytes by default.
	// While one takes the place of another there are two of them: the folder
	// needs room for MaxBytes + 2 × SnapshotBytes.
	SnapshotBytes int64

	// SyncEvery is how long after it was written a record is synced at the
	// latest, 50 ms by default: what a loss of power can cost.
	SyncEvery time.Duration

	// Always makes Append return only after its records are synced. Those who
	// wait at the same time share a sync.
	Always bool

	// OnWrite is called after every write with what it took, the bytes of all
	// who shared it, and its error. It runs while the others wait, on the
	// goroutine of one of them, and the clock is read for it only when it is
	// set. Neither hook may call the Log.
	OnWrite func(took time.Duration, bytes int, err error)

	// OnSync is called after every sync of the log, with what it took and the
	// bytes that it made safe. It runs on the goroutine that syncs.
	OnSync func(took time.Duration, bytes int64, err error)
}

// Defaults and limits of Options.
const (
	defaultSegmentBytes = 16 << 20
	defaultMaxBytes     = 256 << 20
	defaultSyncEvery    = 50 * time.Millisecond
	leastSegmentBytes   = 256
	mostSegmentBytes    = 512 << 20
)

func (o Options) withDefaults() (Options, error) {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = max(defaultMaxBytes, 2*o.SegmentBytes)
	}
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = o.MaxBytes / 4
	}
	if o.SyncEvery == 0 {
		o.SyncEvery = defaultSyncEvery
	}
	var faults []error
	if o.SegmentBytes < leastSegmentBytes || o.SegmentBytes > mostSegmentBytes {
		faults = append(faults, fmt.Errorf("SegmentBytes is %d: not within %d and %d", o.SegmentBytes, leastSegmentBytes, mostSegmentBytes))
	}
	if o.MaxBytes < 2*o.SegmentBytes {
		faults = append(faults, fmt.Errorf("MaxBytes is %d: less than two segments of %d", o.MaxBytes, o.SegmentBytes))
	}
	if o.SnapshotBytes < 0 {
		faults = append(faults, fmt.Errorf("SnapshotBytes is %d: negative", o.SnapshotBytes))
	}
	if o.SyncEvery < 0 {
		faults = append(faults, fmt.Errorf("SyncEvery is %v: negative", o.SyncEvery))
	}
	return o, errors.Join(faults...)
}

// A Log is an open journal. All its methods may be called by any number of
// goroutines; the callbacks of Scan, Snapshot and Checkpoint may call it too,
// except that inside a Checkpoint's neither Checkpoint, Drop nor Close can end.
type Log struct {
	fs      disk.FS
	dir     string
	options Options
	lock    io.Closer
	id      uint64 // of this log, in every segment
	seed    seed   // of the frames in all segments
	cut     Recovery

	turn    chan struct{} // held by Checkpoint, Drop and Close: one at a time
	dirty   chan struct{} // something is there to be synced
	urgent  chan struct{} // somebody waits for it
	closing chan struct{}
	stopped chan struct{} // closed when the goroutine that syncs has ended

	mu       sync.Mutex // guards all that follows
	segments []*segment // in order
	tail     *segment   // the last of them; whoever writes may read it unlocked
	snapshot *segment   // the checkpoint, nil for none; its base is where it ends
	pending  *batch     // what waits to be written, never nil
	spare    []*batch   // for the next ones
	writing  bool       // somebody writes, and alone changes the last segment
	wrote    sync.Cond  // writing ended, or a caller left
	callers  int        // inside Append
	closed   bool
	broken   error // why the log is not to be used

	bytes      int64     // of all segments, and of what waits to be written
	end        Pos       // of what is written; whoever writes may read it unlocked
	last       Pos       // the end of the last record
	marked     Pos       // what the last mark says; owned by who writes
	synced     Pos       // of what is safe, names too
	newNames   bool      // since the last sync of the folder
	syncWanted bool      // dirty was sent and not yet answered
	syncDone   sync.Cond // synced grew, or broken was set
	count      counters
}

// Open opens the journal in a folder, which it makes if need be. What an
// earlier process left torn is cut off, see Recovered; what Open found is
// synced. It fails with a CorruptError for damage, and with disk.ErrLocked while
// a process has the journal open.
func Open(fs disk.FS, dir string, o Options) (*Log, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", dir, err)
	}
	l := &Log{
		fs: fs, dir: dir, options: o,
		turn:    make(chan struct{}, 1),
		dirty:   make(chan struct{}, 1),
		urgent:  make(chan struct{}, 1),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
	}
	l.wrote.L, l.syncDone.L = &l.mu, &l.mu
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", dir, err)
	}
	go l.syncLoop()
	return l, nil
}

func (l *Log) open() error {
	if err := l.fs.MkdirAll(l.dir); err != nil {
		return err
	}
	lock, err := l.fs.Lock(l.path("lock"))
	if err != nil {
		return err
	}
	l.lock = lock
	if err := l.recover(); err != nil {
		return errors.Join(err, l.closeFiles())
	}
	l.pending = l.newBatch()
	return nil
}

func (l *Log) path(name string) string { return filepath.Join(l.dir, name) }

// Close waits for the calls of Append that have begun, syncs, and closes the
// journal. It returns ErrBroken if the log was, or became so. A second Close
// does nothing.
func (l *Log) Close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	for l.callers > 0 {
		l.wrote.Wait()
	}
	l.mu.Unlock()

	close(l.closing)
	<-l.stopped
	l.syncOnce()
	l.markEnd()
	l.mu.Lock()
	broken := l.broken
	l.mu.Unlock()
	if err := errors.Join(broken, l.closeFiles()); err != nil {
		return fmt.Errorf("close journal %s: %w", l.dir, err)
	}
	return nil
}

// closeFiles gives back what open took. Files that are being read are closed
// by their readers.
func (l *Log) closeFiles() error {
	l.mu.Lock()
	files := slices.Clone(l.segments)
	if l.snapshot != nil {
		files = append(files, l.snapshot)
	}
	l.segments, l.snapshot = nil, nil
	l.mu.Unlock()
	var errs []error
	for _, s := range files {
		errs = append(errs, l.release(s))
	}
	return errors.Join(append(errs, l.lock.Close())...)
}
