// Package ring keeps the newest entries of a log, bounded by count and by
// bytes, numbered from 1, with a way to wait for the next one.
//
// Guarantee: Add never blocks and never grows the ring past its bounds; the
// oldest entries go first. A number is never used twice, also after Clear.
//
// It keeps nothing on disk.
package ring

import (
	"context"
	"sync"
)

// Ring is a bounded log. It is safe for use by several goroutines.
type Ring[T any] struct {
	maxCount int
	maxBytes int64
	size     func(T) int64 // immutable after New

	mu      sync.Mutex
	items   []T           // guarded by mu; the live ones are items[head:]
	head    int           // guarded by mu
	last    uint64        // guarded by mu; number of the newest entry ever added
	bytes   int64         // guarded by mu
	changed chan struct{} // guarded by mu; made only when somebody waits
}

// New makes a ring of at most maxCount entries that together weigh at most
// maxBytes by size. An entry heavier than maxBytes is kept alone until the next.
func New[T any](maxCount int, maxBytes int64, size func(T) int64) *Ring[T] {
	return &Ring[T]{maxCount: maxCount, maxBytes: maxBytes, size: size}
}

// Add appends the entry that make returns for its number, and returns the number.
func (r *Ring[T]) Add(make func(seq uint64) T) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	v := make(r.last)
	r.items = append(r.items, v)
	r.bytes += r.size(v)
	for len(r.items)-r.head > 1 && (len(r.items)-r.head > r.maxCount || r.bytes > r.maxBytes) {
		var none T
		r.bytes -= r.size(r.items[r.head])
		r.items[r.head] = none
		r.head++
	}
	// Moving the live entries only when half is dead makes Add O(1) on average.
	if r.head > 64 && r.head > len(r.items)/2 {
		n := copy(r.items, r.items[r.head:])
		clear(r.items[n:])
		r.items, r.head = r.items[:n], 0
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	return r.last
}

// Since returns up to limit entries with a number above after, oldest first
// (limit 0 = all), and the number of the last one returned, or of the newest
// entry there ever was when none is returned: what to ask after next.
func (r *Ring[T]) Since(after uint64, limit int) ([]T, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	live := r.items[r.head:]
	first := r.last - uint64(len(live)) // the number before the oldest live entry
	if after >= r.last || len(live) == 0 {
		return nil, r.last
	}
	if after > first {
		live = live[after-first:]
	} else {
		after = first
	}
	if limit > 0 && len(live) > limit {
		live = live[:limit]
	}
	return append([]T(nil), live...), after + uint64(len(live))
}

// Wait returns when an entry with a number above after exists, or with the
// cause when ctx ends first.
func (r *Ring[T]) Wait(ctx context.Context, after uint64) error {
	for {
		r.mu.Lock()
		if r.last > after {
			r.mu.Unlock()
			return nil
		}
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Clear forgets every entry. Numbers go on from where they were, so that
// somebody who waits for the next one is not misled.
func (r *Ring[T]) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items, r.head, r.bytes = nil, 0, 0
}
