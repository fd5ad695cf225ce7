package ledger

// Len is how many messages are remembered.
func Len(l *Ledger) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Check returns what does not fit together of what is remembered.
func Check(l *Ledger) (faults []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count, open, unknowns, named := 0, 0, 0, 0
	for _, e := range l.order {
		if e.gone {
			continue
		}
		count++
		open += unsettled(e.state)
		if e.state == unknown {
			unknowns++
		}
		if (e.text != nowhere) != (e.state == waiting) || (e.in != nil) != (e.text == here) {
			faults = append(faults, "a text is not where it should be")
		}
		if l.find(e.key()) != e {
			faults = append(faults, "a message is not found by its key")
		}
	}
	for _, e := range l.names {
		for ; e != nil; e = e.next {
			named++
		}
	}
	if count != l.count || named != count || open != l.open || unknowns != len(l.unknown) {
		faults = append(faults, "the counts are wrong")
	}
	return faults
}

// Crowd pretends that n more messages wait.
func Crowd(l *Ledger, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
}

// Remember bounds what is remembered, before it is used.
func Remember(l *Ledger, most int) { l.memory = newMemory(most) }

// The bounds.
const (
	MaxEntries = maxEntries
	MaxOpen    = maxOpen
)
