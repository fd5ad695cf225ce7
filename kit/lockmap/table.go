package lockmap

import (
	"sync"
	"time"
)

const (
	// minBuckets is the size of the smallest table.
	minBuckets = 8

	// maxSpare is how many unused entries a shard keeps for reuse. It bounds
	// what a burst of keys leaves behind.
	maxSpare = 64
)

// shard is a hash table of the keys that are held and belong to it. It is our
// own because the hash that chose the shard serves a second time, entries are
// reused, and the table shrinks again, none of which a Go map can do.
type shard[K comparable] struct {
	mu       sync.Mutex
	buckets  []*entry[K] // chains; a power of two, none before the first key
	count    int         // entries in the buckets
	spare    *entry[K]   // a chain of unused entries
	spares   int
	waiting  int
	rejected uint64

	_ [64]byte // keeps the next shard's mutex off this cache line
}

// entry is one key that is held, with those who await it in their order.
type entry[K comparable] struct {
	key        K
	hash       uint64
	next       *entry[K]     // in its chain
	since      time.Duration // of the hand-over, if OnHold wants to know
	head, tail *waiter
	waiting    int
}

// bucket is where the chain of hash begins. The table must not be empty.
func (s *shard[K]) bucket(hash uint64) **entry[K] {
	return &s.buckets[hash&uint64(len(s.buckets)-1)]
}

// find returns the entry of key, or nil. The caller holds mu.
func (s *shard[K]) find(hash uint64, key K) *entry[K] {
	if s.count == 0 {
		return nil
	}
	e := *s.bucket(hash)
	for e != nil && (e.hash != hash || e.key != key) {
		e = e.next
	}
	return e
}

// enter finds the entry of key, or makes one that the caller then holds from
// now on. The caller holds mu.
func (s *shard[K]) enter(hash uint64, key K, now time.Duration) (e *entry[K], free bool) {
	if e = s.find(hash, key); e != nil {
		return e, false
	}
	if s.count == len(s.buckets) {
		s.resize(max(minBuckets, 2*s.count))
	}
	if e = s.spare; e != nil {
		s.spare = e.next
		s.spares--
	} else {
		e = new(entry[K])
	}
	b := s.bucket(hash)
	e.key, e.hash, e.since, e.next = key, hash, now, *b
	*b = e
	s.count++
	return e, true
}

// drop forgets the key of e, which nobody holds or awaits. The caller holds mu.
func (s *shard[K]) drop(e *entry[K]) {
	b := s.bucket(e.hash)
	for *b != e {
		b = &(*b).next
	}
	*b = e.next
	s.count--
	if len(s.buckets) > minBuckets && s.count < len(s.buckets)/8 {
		s.resize(len(s.buckets) / 2)
	}
	if s.spares == maxSpare {
		return
	}
	var none K
	e.key, e.next = none, s.spare // the key's memory is not ours to keep
	s.spare = e
	s.spares++
}

// resize moves all entries to n buckets, a power of two.
func (s *shard[K]) resize(n int) {
	old := s.buckets
	s.buckets = make([]*entry[K], n)
	for _, e := range old {
		for e != nil {
			next, b := e.next, s.bucket(e.hash)
			e.next, *b = *b, e
			e = next
		}
	}
}
