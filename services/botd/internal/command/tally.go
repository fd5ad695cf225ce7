package command

import "sync"

// maxTallied bounds the people counted: a few MiB of memory.
const maxTallied = 1 << 16

// Tally counts how many commands each person has used since the bot started.
type Tally struct {
	mu   sync.Mutex
	uses map[string]int // by sender; guarded by mu
}

// NewTally returns an empty tally.
func NewTally() *Tally { return &Tally{uses: make(map[string]int)} }

// Count adds one use and returns how many there are. When too many people are
// counted, somebody else's count is dropped and starts anew.
func (t *Tally) Count(sender string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.uses[sender]; !known && len(t.uses) >= maxTallied {
		for other := range t.uses {
			delete(t.uses, other)
			break
		}
	}
	t.uses[sender]++
	return t.uses[sender]
}

// Forget drops the count of one person.
func (t *Tally) Forget(sender string) {
	t.mu.Lock()
	delete(t.uses, sender)
	t.mu.Unlock()
}
