package bus

import "quartet/services/busd/internal/rawio"

// fdSet is the file descriptors of one message. Whoever has yet to be sent them
// holds a use, and the last one closes them. Those that no message has claimed
// yet are a peer's.
type fdSet struct {
	fds  []int
	refs int
}

// newFDs makes a set of fds, with one use.
func (b *Bus) newFDs(fds []int) *fdSet {
	b.memory.openFDs += len(fds)
	return &fdSet{fds: append([]int(nil), fds...), refs: 1}
}

func (b *Bus) releaseFDs(s *fdSet) {
	if s == nil {
		return
	}
	if s.refs--; s.refs > 0 {
		return
	}
	b.memory.openFDs -= len(s.fds)
	closeAll(s.fds)
	s.fds = nil
	b.fdFreed()
}

func closeAll(fds []int) {
	for _, fd := range fds {
		rawio.Close(fd)
	}
}
