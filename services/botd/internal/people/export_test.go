package people

// The bounds.
const (
	MaxTallied = maxTallied
	MaxOut     = maxOut
)

// Len is how many people are counted, and Out how many have opted out.
func (p *People) Len() int { return len(p.tally.places) }
func (p *People) Out() int { return len(p.out) }

// Mark is what a person is told by.
func (p *People) Mark(person string) []byte {
	m := p.salt.mark(person)
	return m[:]
}

// Sound reports whether the tallies are one row with all in it.
func (p *People) Sound() bool {
	n, before := 0, int32(0)
	for at := p.tally.tallies[0].newer; at != 0; at = p.tally.tallies[at].newer {
		t := p.tally.tallies[at]
		if t.older != before || p.tally.places[t.mark] != at {
			return false
		}
		n, before = n+1, at
	}
	return n == len(p.tally.places) && p.tally.tallies[0].older == before &&
		len(p.tally.tallies) == 1+n+len(p.tally.free)
}

// OptOutAll fills the list without the cost of one by one.
func (p *People) OptOutAll(people []string) {
	p.out = make(map[mark]struct{}, len(people))
	for _, person := range people {
		p.out[p.salt.mark(person)] = struct{}{}
	}
}
