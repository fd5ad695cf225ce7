package upstream

import (
	"maps"
	"sync"
	"time"
)

// maxHosts bounds for how many hosts it is remembered how they do.
const maxHosts = 64

// gates are one gate for each host.
type gates struct {
	mu     sync.Mutex
	byHost map[string]*gate // guarded by mu
}

// of returns the gate of host. If too many hosts are unwell it is one that
// nobody else will see.
func (g *gates) of(host string, now time.Time) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if found := g.byHost[host]; found != nil {
		return found
	}
	fresh := new(gate)
	if len(g.byHost) >= maxHosts {
		maps.DeleteFunc(g.byHost, func(_ string, old *gate) bool { return old.well(now) })
	}
	if len(g.byHost) < maxHosts {
		if g.byHost == nil {
			g.byHost = make(map[string]*gate)
		}
		g.byHost[host] = fresh
	}
	return fresh
}

// well says that nothing would be lost with the gate.
func (g *gate) well(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failures == 0 && !now.Before(g.told)
}
