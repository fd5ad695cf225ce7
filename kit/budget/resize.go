package budget

import "fmt"

// Resize changes the capacity. Growing serves waiters at once. Shrinking takes
// nothing from anybody: units in use above the new capacity stay out until
// they are given back, and nothing is granted meanwhile. Waiters who want more
// than the new capacity fail with ErrTooLarge. It panics like New.
func (b *Budget) Resize(capacity int64) {
	checkCapacity(b.name, capacity)
	b.mu.Lock()
	defer b.mu.Unlock()
	// fastGive compares the two words without mu. With capacity never ahead of
	// state it can be wrong only on the side of caution, and slowGive looks
	// again under mu.
	by := capacity - b.capacity.Load()
	if by < 0 {
		b.capacity.Store(capacity)
		b.state.Add(by << 1)
	} else {
		b.state.Add(by << 1)
		b.capacity.Store(capacity)
	}
	b.refuse(func(w *waiter) bool { return w.n > capacity }, tooLarge)
	b.settle()
}

func checkCapacity(name string, capacity int64) {
	if capacity < 0 || capacity > maxCapacity {
		panic(fmt.Sprintf("budget %s: capacity %d is not between 0 and %d", name, capacity, int64(maxCapacity)))
	}
}
