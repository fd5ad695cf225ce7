package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is the error of a Get that would have to fetch after Close.
var ErrClosed = errors.New("cache closed")

// CacheOptions of a Cache.
type CacheOptions struct {
	// TTL is how long a value is served without a fetch. At 0 nothing is
	// remembered, and only fetches at the same time are shared.
	TTL time.Duration

	// NegativeTTL is how long an error is remembered and served in place of
	// another fetch, and how long a failed refresh of a stale value waits for the
	// next. At 0 each Get tries again.
	NegativeTTL time.Duration

	// StaleFor is how long after its TTL a value is still served, while one fetch
	// in the background refreshes it.
	StaleFor time.Duration

	// Jitter is the share of TTL, 0 to 1, of which a random part is taken off
	// each value, so that what was fetched together does not expire together.
	Jitter float64

	// MaxEntries bounds what is remembered, expired entries included; 1,024 by
	// default. At the limit an entry not used lately makes room.
	MaxEntries int

	// FetchTimeout is the deadline of each fetch, 30 s by default. Whoever waits
	// then gets context.DeadlineExceeded, even if the fetch does not notice.
	FetchTimeout time.Duration

	// Wait, if set, is called as a Get begins to wait for a fetch, its own or
	// another caller's, and what it returns when it has waited. This is
	// where a request's time goes to its upstream.
	Wait func(ctx context.Context) func(error)
}

// Cache remembers what fetch returned, by key. It is safe for many goroutines.
//
// A fetch runs on its own: it has the values of the context of the Get that
// began it, its own deadline, and no one's cancellation. A caller who
// gives up hits nobody else; when the last one has given up, the fetch is
// cancelled and its result dropped, and the next Get begins another. So
// fetch must return when its context ends; while one does not, another for the
// same key may run beside it. A refresh in the background has no request's
// values, since no request waits for it.
//
// A fetch that panics gives a *PanicError to all who wait for it.
type Cache[K comparable, V any] struct {
	name  string
	o     CacheOptions
	fetch func(context.Context, K) (V, error)
	born  time.Time
	life  context.Context // ends with Close
	stop  context.CancelCauseFunc
	tasks sync.WaitGroup // running fetches; grows under mu while not closed

	hits, errors atomic.Uint64

	mu      sync.RWMutex // guards what follows
	entries map[K]*entry[K, V]
	ring    []*entry[K, V] // the same entries, in the order the hand visits them
	hand    int
	flights map[K]*flight[K, V] // those whose result will be remembered
	counts  CacheStats          // all but hits and errors
	closed  bool
}

// CacheStats count since NewCache. Each Get that was not cancelled before it
// had to fetch is one of Hits, Stale, Errors and Misses.
type CacheStats struct {
	Name      string
	Hits      uint64 // a value within its TTL
	Stale     uint64 // a value beyond it
	Errors    uint64 // a remembered error
	Misses    uint64 // waited for a fetch
	Fetches   uint64 // begun
	Failures  uint64 // fetches that ended with an error, unless dropped
	Evictions uint64
	Entries   int
}

// entry is immutable but for retry and slot, which mu guards, and used.
type entry[K comparable, V any] struct {
	key         K
	val         V
	err         error
	fresh, dead time.Duration // since born: served without a fetch, and at all, before this
	retry       time.Duration // no refresh before this
	slot        int           // in ring
	used        atomic.Bool   // since the hand came by
}

// NewCache makes a cache of what fetch returns.
func NewCache[K comparable, V any](name string, o CacheOptions, fetch func(context.Context, K) (V, error)) *Cache[K, V] {
	o.MaxEntries = orDefault(max(o.MaxEntries, 0), 1024)
	o.FetchTimeout = orDefault(max(o.FetchTimeout, 0), 30*time.Second)
	c := &Cache[K, V]{
		name: name, o: o, fetch: fetch, born: time.Now(),
		entries: make(map[K]*entry[K, V]), flights: make(map[K]*flight[K, V]),
	}
	c.life, c.stop = context.WithCancelCause(context.Background())
	return c
}

// Get returns the value of key, fetching it if need be. A value at hand is
// returned whatever ctx says. Else errors are those of fetch, to all who
// waited for it, or ctx.Err() with the cause of ctx's end, or ErrClosed; all
// wrapped.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (V, error) {
	now := time.Since(c.born)
	c.mu.RLock()
	e := c.entries[key]
	c.mu.RUnlock()
	if e != nil && now < e.fresh {
		return c.serve(e)
	}
	return c.slow(ctx, key)
}

// serve answers from a fresh entry.
func (c *Cache[K, V]) serve(e *entry[K, V]) (V, error) {
	if !e.used.Load() { // a write would take the cache line from all other readers
		e.used.Store(true)
	}
	if e.err != nil {
		c.errors.Add(1)
	} else {
		c.hits.Add(1)
	}
	return e.val, e.err
}

// Peek returns the value of key if one is remembered, fresh or stale. It never
// fetches, and does not count as use.
func (c *Cache[K, V]) Peek(key K) (V, bool) {
	now := time.Since(c.born)
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.entries[key]; e != nil && e.err == nil && now < e.dead {
		return e.val, true
	}
	var none V
	return none, false
}

// Forget drops what is remembered of key. A fetch under way still answers those
// who wait for it, but is not remembered: a Get after Forget never sees
// what was fetched before.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		c.remove(e)
	}
	if f := c.flights[key]; f != nil {
		delete(c.flights, key)
		if f.waiters == 0 {
			f.cancel()
		}
	}
}

// Stats counts.
func (c *Cache[K, V]) Stats() CacheStats {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s := c.counts
	s.Name, s.Entries = c.name, len(c.entries)
	s.Hits, s.Errors = c.hits.Load(), c.errors.Load()
	return s
}

// Close cancels all fetches and waits for them. Those who wait for one get
// ErrClosed, and so does every later Get that would need one.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop(ErrClosed)
	c.tasks.Wait()
}

// store remembers a result. It is called with mu held.
func (c *Cache[K, V]) store(key K, v V, err error) {
	now := time.Since(c.born)
	old := c.entries[key]
	e := &entry[K, V]{key: key, val: v, err: err}
	switch {
	case err == nil:
		e.fresh = now + c.o.TTL - time.Duration(rand.Float64()*c.o.Jitter*float64(c.o.TTL))
		e.dead = e.fresh + c.o.StaleFor
	case old != nil && old.err == nil && now < old.dead:
		old.retry = now + c.o.NegativeTTL // a stale value is better than an error
		return
	default:
		e.fresh = now + c.o.NegativeTTL
		e.dead = e.fresh
	}
	if old != nil {
		c.remove(old)
	}
	if e.dead <= now {
		return
	}
	if len(c.ring) >= c.o.MaxEntries {
		c.evict(now)
	}
	e.slot = len(c.ring)
	c.ring = append(c.ring, e)
	c.entries[key] = e
}

// remove is called with mu held.
func (c *Cache[K, V]) remove(e *entry[K, V]) {
	delete(c.entries, e.key)
	last := len(c.ring) - 1
	c.ring[e.slot] = c.ring[last]
	c.ring[e.slot].slot = e.slot
	c.ring[last] = nil
	c.ring = c.ring[:last]
}

// maxSpared bounds how long mu is held for an eviction.
const maxSpared = 16

// evict drops an entry that is dead or was not used since the hand came by
// last (the clock algorithm); after sparing a few, any. It is called with mu held.
func (c *Cache[K, V]) evict(now time.Duration) {
	for spared := 0; ; spared++ {
		c.hand %= len(c.ring)
		e := c.ring[c.hand]
		if now >= e.dead || !e.used.Swap(false) || spared == maxSpared {
			c.remove(e)
			c.counts.Evictions++
			return
		}
		c.hand++
	}
}

func (c *Cache[K, V]) wrap(err error) error { return fmt.Errorf("%s: %w", c.name, err) }
