package weatherbus

import "sync/atomic"

// counts are what was done since the last reset.
type counts struct {
	published, changed, answered                    atomic.Int64
	received, changesSeen, ownersSeen               atomic.Int64
	calls, callsFailed, strangers, callMicroseconds atomic.Int64
	connects                                        atomic.Int64
}

func (c *counts) all() map[string]*atomic.Int64 {
	return map[string]*atomic.Int64{
		"published": &c.published, "changed": &c.changed, "answered": &c.answered,
		"received": &c.received, "changes_seen": &c.changesSeen, "owners_seen": &c.ownersSeen,
		"calls": &c.calls, "calls_failed": &c.callsFailed, "call_us": &c.callMicroseconds,
		"strangers": &c.strangers, "connects": &c.connects,
	}
}

// Stats are what was counted since the last reset, and how many connections
// there are now.
func (p *Play) Stats() map[string]int64 {
	stats := map[string]int64{"connected": p.connected.Load(), "parts": int64(len(p.parts))}
	for name, n := range p.counts.all() {
		stats[name] = n.Load()
	}
	return stats
}

// Reset counts anew.
func (p *Play) Reset() {
	for _, n := range p.counts.all() {
		n.Store(0)
	}
}
