package ledger

// Checkpoint shortens the journal however short it is.
func Checkpoint(l *Ledger) error { return l.checkpoint() }

// Len is how many messages are remembered.
func Len(l *Ledger) int { return len(l.entries) }

// StateOf is what is remembered of a message, "" for nothing.
func StateOf(l *Ledger, k Key) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[k]; e != nil {
		return e.state
	}
	return ""
}
