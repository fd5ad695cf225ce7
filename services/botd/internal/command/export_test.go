package command

// Len is how many uses the gate remembers.
func (g *Gate) Len() int { return len(g.uses) }

// Len is how many people are counted.
func (t *Tally) Len() int { return len(t.uses) }
