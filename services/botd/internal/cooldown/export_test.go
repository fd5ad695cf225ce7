package cooldown

// MaxEntries is how many waits may run at once.
const MaxEntries = maxEntries

// MaxTold is how many people are remembered as told.
const MaxTold = maxTold

// Len is how many waits are remembered, and Told how many people as told.
func (g *Gate) Len() int  { return len(g.entries) }
func (g *Gate) Told() int { return g.told }

// Sound reports whether the gate's parts agree with each other.
func (g *Gate) Sound() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	told := 0
	for i, e := range g.soonest {
		told += len(e.told)
		if e.place != i || g.entries[e.key] != e || e.over() < g.soonest[(max(i, 1)-1)/2].over() {
			return false
		}
	}
	return told == g.told && len(g.entries) == len(g.soonest)
}
