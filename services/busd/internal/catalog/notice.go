package catalog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how many quiet times a change waits at most.
const patience = 10

// Run tells of changes until ctx ends, and closes the watcher. The error is
// nil then.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.file.Close() // nothing was written
	// The kernel wakes the read; a deadline in the past does so for ctx.
	stop := context.AfterFunc(ctx, func() { _ = w.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	buffer := make([]byte, 64<<10)
	changed := make(map[string]bool)
	var first, last time.Time // of the changes in changed
	for {
		var deadline time.Time // zero: none
		if len(changed) > 0 {
			deadline = last.Add(w.opt.Quiet)
			if limit := first.Add(patience * w.opt.Quiet); limit.Before(deadline) {
				deadline = limit
			}
		}
		if err := w.file.SetReadDeadline(deadline); err != nil {
			return fmt.Errorf("watch files: %w", err)
		}
		// After the deadline is set: otherwise it could undo that of ctx.
		if ctx.Err() != nil {
			return nil
		}
		n, err := w.file.Read(buffer)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("watch files: %w", err)
		}
		now := time.Now()
		if n > 0 {
			w.seen.Store(true)
		}
		if n > 0 && w.collect(ctx, buffer[:n], changed) {
			last = now
			if first.IsZero() {
				first = now
			}
		}
		if len(changed) > 0 && (now.Sub(last) >= w.opt.Quiet || now.Sub(first) >= patience*w.opt.Quiet) {
			w.opt.Changed(ctx, slices.Sorted(maps.Keys(changed)))
			clear(changed)
			first, last = time.Time{}, time.Time{}
		}
		if len(changed) == 0 {
			w.seen.Store(false)
		}
	}
}

// collect adds the watched paths that events lead to, and watches anew what
// they made or unmade. It says whether there were any.
func (w *Watcher) collect(ctx context.Context, events []byte, changed map[string]bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, moved := false, false
	for len(events) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := bytes.TrimRight(events[unix.SizeofInotifyEvent:end], "\x00")
		events = events[end:]

		led := w.watches[wd].names[string(name)] // paths that may lead elsewhere now
		if mask&unix.IN_Q_OVERFLOW != 0 {        // events are lost: anything may have changed
			led = w.paths
		}
		moved = moved || len(led) > 0
		for _, path := range slices.Concat(led, w.watches[wd].whole) {
			changed[path] = true
			found = true
		}
	}
	if !moved {
		return found
	}
	if err := w.arm(); err != nil {
		w.opt.Log.LogAttrs(ctx, slog.LevelWarn, "files not watched", slog.Any("err", err))
	}
	return true
}
