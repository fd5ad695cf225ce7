package cooldown

import (
	"container/heap"
	"fmt"
	"time"
)

// clock is now in the gate's own time, which the wall clock does not move.
// Called with g.mu held, as start and excused.
func (g *Gate) clock(now time.Time) time.Duration {
	if g.began.IsZero() {
		g.start(now)
	}
	t := now.Sub(g.began)
	g.skew = time.Duration(now.UnixNano()) - t
	return t
}

// start turns what was read into the gate's time. The wall clock may have been
// set meanwhile, and a wait that has not begun by it begins now.
func (g *Gate) start(now time.Time) {
	g.began = now
	wall := time.Duration(now.UnixNano())
	for _, e := range g.soonest {
		g.moved = g.moved || e.at > wall
		e.at = min(e.at-wall, 0)
	}
	heap.Init(&g.soonest)
}

// Lift lets a person through until the given time, whoever dies in between: it
// is a lease and expires by itself. It never shortens another one. It is for
// self-tests, and in memory only.
func (g *Gate) Lift(person string, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.lifted[person]) {
		g.lifted[person] = until
	}
}

// excused reports whether somebody is let through.
func (g *Gate) excused(person string, now time.Time) bool {
	until, ok := g.lifted[person]
	if ok && !now.Before(until) {
		delete(g.lifted, person)
		return false
	}
	return ok
}

// Tidy removes what is over. Call it once after the start: if the wall clock went
// back it has the shortened waits written, so that the next restart does not begin
// them anew, which shortens the store and is not to happen within a step of it. The
// error is about that; the next call tries again.
func (g *Gate) Tidy(now time.Time) error {
	for g.tidy(now) {
	}
	g.mu.Lock()
	moved := g.moved
	g.moved = false
	g.mu.Unlock()
	if !moved {
		return nil
	}
	if err := g.w.Compact(); err != nil {
		g.mu.Lock()
		g.moved = true
		g.mu.Unlock()
		return fmt.Errorf("write shortened cooldowns: %w", err)
	}
	return nil
}

// tidy removes some, so that nobody waits for the lock long. It reports whether
// there may be more.
func (g *Gate) tidy(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for person, until := range g.lifted {
		if !now.Before(until) {
			delete(g.lifted, person)
		}
	}
	return g.sweep(g.clock(now), 1024)
}
