package command

import (
	"sync"
	"time"
)

// Gate keeps one person from using one command too often. Entries go when
// their time is over, so it holds at most what was used within a cooldown.
type Gate struct {
	mu     sync.Mutex
	uses   map[use]lastUse
	lifted map[string]time.Time // by sender: until when nothing counts; both guarded by mu
	sweep  int                  // how many uses there may be before old ones are looked for
}

type use struct{ sender, command string }

type lastUse struct {
	until time.Time // when the command may be used again
	told  bool      // the person has been told to wait
}

// minSweep keeps small gates from sweeping at every use.
const minSweep = 64

// NewGate returns a gate that has seen no use.
func NewGate() *Gate {
	return &Gate{uses: make(map[use]lastUse), lifted: make(map[string]time.Time), sweep: minSweep}
}

// Refusal says how long somebody has to wait, and whether this is the first
// time that they are told, so that a flood is answered once.
type Refusal struct {
	Wait  time.Duration
	First bool
}

// Reserve marks c as used by sender from now on, before it runs: two uses at
// once can never both pass. It returns a refusal when the last use is too
// recent. A use that came to nothing is given back with Refund.
func (g *Gate) Reserve(sender string, c *Command, now time.Time) (Refusal, bool) {
	if c.Cooldown == 0 {
		return Refusal{}, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if until, ok := g.lifted[sender]; ok {
		if now.Before(until) {
			return Refusal{}, true
		}
		delete(g.lifted, sender)
	}
	key := use{sender, c.Name}
	if last, ok := g.uses[key]; ok && now.Before(last.until) {
		first := !last.told
		last.told = true
		g.uses[key] = last
		return Refusal{Wait: last.until.Sub(now), First: first}, false
	}
	g.forget(now)
	g.uses[key] = lastUse{until: now.Add(c.Cooldown)}
	return Refusal{}, true
}

// Refund takes a reserved use back.
func (g *Gate) Refund(sender string, c *Command) {
	g.mu.Lock()
	delete(g.uses, use{sender, c.Name})
	g.mu.Unlock()
}

// Lift lets sender through until the given time, whoever dies in between: it
// is a lease and expires by itself. It never shortens another one.
func (g *Gate) Lift(sender string, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.lifted[sender]) {
		g.lifted[sender] = until
	}
}

// forget drops what is over. It looks only when the gate has doubled since the
// last time, so a use costs the same however many people there are.
// g.mu is held.
func (g *Gate) forget(now time.Time) {
	if len(g.uses) < g.sweep {
		return
	}
	for key, last := range g.uses {
		if !now.Before(last.until) {
			delete(g.uses, key)
		}
	}
	g.sweep = max(minSweep, 2*len(g.uses))
}
