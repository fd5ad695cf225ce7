package cooldown

import (
	"container/heap"
	"sync"
	"time"

	"quartet/services/botd/internal/store"
)

const (
	// maxEntries bounds the waits that run at once. Who would begin another one
	// is refused until one of them is over, and not told: forgetting a wait
	// early would let a flood through, remembering more would let it grow.
	maxEntries = 1 << 16

	// maxTold bounds what is remembered of whom was told. Beyond it nobody is.
	maxTold = 1 << 16

	// sweepEach is how many waits that are over one use removes: more than it
	// begins, so that they do not pile up, and few, so that nobody pays for all.
	sweepEach = 8
)

// Gate keeps uses apart. It is a store.Book, and safe for concurrent use.
type Gate struct {
	w *store.Store

	mu      sync.Mutex
	entries map[key]*entry // guarded by mu, as all below
	soonest soonest        // the same, the one that is over first at the front
	uses    int64          // the number of the last use
	told    int            // in all entries
	lifted  map[string]time.Time

	began time.Time     // the beginning of the gate's own time; zero until there is a use
	skew  time.Duration // what is to be added to the gate's time for the wall clock's
	moved bool          // the disk has a wait that is longer than its limit
}

// entry is a wait that runs, or ran and is not removed yet.
type entry struct {
	key   key
	at    time.Duration // when it began, in the gate's time; before began, by the wall clock
	limit time.Duration
	use   int64               // which use began it
	kept  bool                // its records were asked for
	told  map[string]struct{} // who was told to wait for it
	place int                 // in soonest
}

func (e *entry) over() time.Duration { return e.at + e.limit }

// New returns a gate that has seen no use.
func New(w *store.Store) *Gate {
	return &Gate{w: w, entries: make(map[key]*entry), lifted: make(map[string]time.Time)}
}

// Reserve begins the waits of a use, all or none: after it, until Refund, no use
// passes that has to wait for this one. If one of them runs it refuses, with the
// longest. A wait that has begun is not prolonged by a longer limit; a shorter one
// of its group or command shortens it. Without limits nobody waits, after a
// failure neither.
//
// The reservation is nil where nothing is to be kept: without limits, and for whom
// Lift lets through.
func (g *Gate) Reserve(u Use, l Limits, now time.Time) (*Reservation, Refusal, bool) {
	var room [scopes]wait
	waits := u.waits(l, room[:0])
	if len(waits) == 0 {
		return nil, Refusal{}, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.clock(now)
	if g.excused(u.Person, now) {
		return nil, Refusal{}, true
	}
	if e, left := g.running(append(waits, wait{key: u.failure()}), t); e != nil {
		return nil, Refusal{Wait: left, First: g.tell(e, u.Person)}, false
	}
	if !g.room(waits) {
		g.sweep(t, sweepEach)
	}
	if !g.room(waits) {
		return nil, Refusal{Wait: g.full(waits, t)}, false
	}
	g.uses++
	for _, w := range waits {
		g.begin(w, t)
	}
	g.sweep(t, sweepEach) // behind begin, which takes up what is over
	return &Reservation{gate: g, use: u, limits: l, number: g.uses}, Refusal{}, true
}

// running is the wait that is over last, nil when none runs, and what is left of it.
// Called with g.mu held, as all below.
func (g *Gate) running(waits []wait, t time.Duration) (last *entry, left time.Duration) {
	for _, w := range waits {
		e := g.entries[w.key]
		if e == nil {
			continue
		}
		if w.limit < e.limit && w.key.scope.sameLimit() {
			e.limit = w.limit
			heap.Fix(&g.soonest, e.place)
		}
		// Of two that look at the clock at once the later one may come first.
		if rest := min(e.over()-t, e.limit); rest > left {
			last, left = e, rest
		}
	}
	return last, left
}

// room reports whether all these waits have room.
func (g *Gate) room(waits []wait) bool {
	fresh := 0
	for _, w := range waits {
		if g.entries[w.key] == nil {
			fresh++
		}
	}
	return len(g.entries)+fresh <= maxEntries
}

// full is how long a gate without room has none; no longer than a limit.
func (g *Gate) full(waits []wait, t time.Duration) time.Duration {
	var limit time.Duration
	for _, w := range waits {
		limit = max(limit, w.limit)
	}
	return min(g.soonest[0].over()-t, limit)
}

// begin begins a wait, in place of one of the same key.
func (g *Gate) begin(w wait, t time.Duration) {
	e := g.entries[w.key]
	if e == nil {
		e = &entry{key: w.key, at: t, limit: w.limit, use: g.uses}
		g.add(e)
		return
	}
	g.untell(e)
	e.at, e.limit, e.use, e.kept = t, w.limit, g.uses, false
	heap.Fix(&g.soonest, e.place)
}

func (g *Gate) add(e *entry) {
	g.entries[e.key] = e
	heap.Push(&g.soonest, e)
}

func (g *Gate) drop(e *entry) {
	g.untell(e)
	delete(g.entries, e.key)
	heap.Remove(&g.soonest, e.place)
}

// tell reports whether a person is to be told that they wait for e, and remembers it.
func (g *Gate) tell(e *entry, person string) bool {
	if _, told := e.told[person]; told || g.told >= maxTold {
		return false
	}
	if e.told == nil {
		e.told = make(map[string]struct{})
	}
	e.told[person] = struct{}{}
	g.told++
	return true
}

func (g *Gate) untell(e *entry) {
	g.told -= len(e.told)
	e.told = nil
}

// sweep removes waits that are over, n at most, and reports whether there may be more.
func (g *Gate) sweep(t time.Duration, n int) bool {
	for ; n > 0; n-- {
		if len(g.soonest) == 0 || g.soonest[0].over() > t {
			return false
		}
		g.drop(g.soonest[0])
	}
	return true
}
