package journal

// Stats is what a Log can tell about itself. The counters only grow.
type Stats struct {
	Bytes         int64 // of all segments, and of what is about to be written
	MaxBytes      int64
	Segments      int
	SnapshotBytes int64 // of the checkpoint
	Unsynced      int64 // bytes that a loss of power may cost

	Oldest Pos // where the log begins
	Synced Pos // before it everything is safe
	End    Pos // of what is written

	Writes uint64 // fewer than calls of Append where callers shared one
	Syncs  uint64

	Broken error // nil, or ErrBroken with its reason
}

// counters are guarded by Log.mu.
type counters struct {
	writes, syncs uint64
	held          []*segment // memory for syncOnce, which owns the elements
}

// Stats returns what holds now; after Close, only the counters.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{
		Bytes:    l.bytes,
		MaxBytes: l.options.MaxBytes,
		Segments: len(l.segments),
		Unsynced: int64(l.end - l.synced),
		Synced:   l.synced,
		End:      l.end,
		Writes:   l.count.writes,
		Syncs:    l.count.syncs,
		Broken:   l.broken,
	}
	if len(l.segments) > 0 {
		s.Oldest = l.segments[0].base
	}
	if l.snapshot != nil {
		s.SnapshotBytes = l.snapshot.size
	}
	return s
}

// End is the end of what is written: what Append returned before is before it,
// what it returns later is not. It is the position to give to Checkpoint.
func (l *Log) End() Pos {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Recovery is what Open cut off. The zero value is that of a log that ended
// well. A kill of the process can tear what Append had not returned for; more
// than that means a loss of power.
type Recovery struct {
	File  string // that was cut, or the first that was removed
	At    Pos    // where the log ended then
	Bytes int64  // cut off and removed
}

// Recovered returns what Open cut off.
func (l *Log) Recovered() Recovery { return l.cut }
