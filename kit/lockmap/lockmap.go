// Package lockmap is one lock per key, for any number of keys: the messages of
// one person stay in order while those of others go on.
//
// Guarantees:
//   - Each key is handed over strictly first in, first out. Unlock gives the
//     lock to the longest waiter; nobody who comes later takes it in between.
//   - A wait ends with its context. A caller whose context is done never gets
//     the lock, not even when it is granted at the same moment.
//   - Keys never block one another, whatever they hash to: a goroutine may
//     hold several. Only the few instructions of an operation's bookkeeping
//     are under a mutex that keys share.
//   - An entry exists only while its key is held or awaited.
//   - Neither the free nor the waiting path allocates in the steady state.
//
// What it is not: a lock is not reentrant, does not know its holder (any
// goroutine may unlock it) and does not tell readers from writers. Locking
// several keys at once in no fixed order can deadlock as with any lock; the
// contexts end that. Strict order costs a switch of goroutines at each
// contended hand-over, which a sync.Mutex avoids by letting runners barge in.
//
// Keys that do not equal themselves (a floating-point NaN) must not be used:
// nobody could unlock them.
package lockmap

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// ErrBusy says that as many callers await this key as Options.MaxWaiters
// allows. Test for it with errors.Is.
var ErrBusy = errors.New("too many waiters")

// Options tunes a Map. The zero value is ready: no cap and no hooks.
//
// Hooks run without any lock of the map, so they may use it; they must be
// quick all the same, and safe to call from several goroutines. The clock is
// read only for a hook that is set.
type Options struct {
	// MaxWaiters is how many callers may await one key, its holder not
	// counted. One more gets ErrBusy at once. 0 means no cap.
	MaxWaiters int

	// OnWait is told how long each Lock or Queue waited that did not find
	// its key free, whether it then got the lock or gave up.
	OnWait func(waited time.Duration)

	// OnHold is told at each Unlock how long the key had been held since it
	// was handed over.
	OnHold func(held time.Duration)
}

// Stats is a snapshot of a Map. The parts of a busy map are read one after the
// other, so its numbers may belong to slightly different moments.
type Stats struct {
	Name     string
	Entries  int    // keys held now
	Waiting  int    // callers of Lock and Queue that await their key now
	Rejected uint64 // ErrBusy answers so far
}

// shardCount spreads the bookkeeping over so many mutexes. It has no effect on
// which keys wait for each other. A power of two.
const shardCount = 64

// Map holds the locks. Make it with New.
type Map[K comparable] struct {
	name    string
	options Options
	busy    error // ErrBusy with the name, made once: a flood must be cheap to refuse
	seed    maphash.Seed
	epoch   time.Time // now counts from here
	shards  [shardCount]shard[K]

	// waiters recycles the places of those who wait, with their channels. A
	// pool, and not a list in the shard, because the goroutine that waited
	// recycles and holds no mutex then. Each map has its own, so that a channel
	// made in one synctest bubble never turns up in another.
	waiters sync.Pool

	// callbacks counts the granted functions that run on the goroutines of
	// unlockers, see call.
	callbacks atomic.Int32
}

// New makes a map without any key. The name appears in its errors and Stats;
// keys never do, because they may be personal.
// It panics when o.MaxWaiters is negative.
func New[K comparable](name string, o Options) *Map[K] {
	if o.MaxWaiters < 0 {
		panic("lockmap " + name + ": negative MaxWaiters")
	}
	return &Map[K]{
		name:    name,
		options: o,
		busy:    fmt.Errorf("lock %s: %w", name, ErrBusy),
		seed:    maphash.MakeSeed(),
		epoch:   time.Now(),
	}
}

// Lock takes the lock of key, after everybody who came before.
//
// It fails with ErrBusy when the cap on waiters is reached, and when ctx is
// done before the lock is ours with an error that wraps both ctx.Err() and the
// cause. After an error the lock is not held.
func (m *Map[K]) Lock(ctx context.Context, key K) error {
	if ctx.Err() != nil {
		return m.cancelled(ctx)
	}
	s, hash := m.shard(key)
	now := m.now(m.options.OnHold != nil)
	s.mu.Lock()
	e, free := s.enter(hash, key, now)
	if free {
		s.mu.Unlock()
		return nil
	}
	if m.full(e) {
		s.rejected++
		s.mu.Unlock()
		return m.busy
	}
	w := m.newWaiter()
	s.push(e, w)
	s.mu.Unlock()
	return m.await(ctx, key, s, e, w)
}

// TryLock takes the lock of key if nobody holds or awaits it, and says whether
// it did.
func (m *Map[K]) TryLock(key K) bool {
	s, hash := m.shard(key)
	now := m.now(m.options.OnHold != nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, free := s.enter(hash, key, now)
	return free
}

// Unlock hands the lock of key to its longest waiter, or forgets the key when
// there is none. It panics if the key is not locked.
func (m *Map[K]) Unlock(key K) {
	held, queued := m.release(key)
	if m.options.OnHold != nil {
		m.options.OnHold(held)
	}
	if queued != nil {
		m.call(queued)
	}
}

// Stats reads the counters.
func (m *Map[K]) Stats() Stats {
	st := Stats{Name: m.name}
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		st.Entries += s.count
		st.Waiting += s.waiting
		st.Rejected += s.rejected
		s.mu.Unlock()
	}
	return st
}

// shard finds the bookkeeping of key. The low bits of its hash choose the
// shard, the returned ones its place there.
func (m *Map[K]) shard(key K) (s *shard[K], hash uint64) {
	hash = maphash.Comparable(m.seed, key)
	return &m.shards[hash%shardCount], hash / shardCount
}

// full says whether one more may not wait. The caller holds the shard's mutex.
func (m *Map[K]) full(e *entry[K]) bool {
	return m.options.MaxWaiters > 0 && e.waiting >= m.options.MaxWaiters
}

// now reads the clock if a hook wants to know.
func (m *Map[K]) now(wanted bool) time.Duration {
	if !wanted {
		return 0
	}
	return time.Since(m.epoch)
}

func (m *Map[K]) cancelled(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return fmt.Errorf("lock %s: %w", m.name, err)
	}
	return fmt.Errorf("lock %s: %w: %w", m.name, err, cause)
}
