package lockmap

// maxNested bounds how many granted functions run at once on the goroutines of
// those who unlock. One that unlocks its key in turn runs the next inside
// itself, so a long queue of them is a deep stack; from this depth on, each
// gets a goroutine of its own, which ends with it.
const maxNested = 64

// Queue takes the lock of key without blocking: it takes its place among those
// who await the key, and granted is called exactly once, when the lock is
// held. Whoever granted leaves that to calls Unlock. There is no way to give
// the place up; let granted unlock at once when it comes too late.
//
// If the key is free, granted runs before Queue returns. Otherwise it runs on
// the goroutine that hands the key on, within its call of Unlock, or of a Lock
// that was granted the key after its context had ended. So it should be quick:
// start or hand over the work, do not do it. It may use the map freely, the same
// key included. Functions that unlock at once and so call each other do not grow
// a stack without bound: while 64 run, each further one gets a goroutine of its
// own. If granted panics, the key stays locked.
//
// Queue fails with ErrBusy when the cap on waiters is reached; granted is then
// never called.
func (m *Map[K]) Queue(key K, granted func()) error {
	if granted == nil {
		panic("lockmap " + m.name + ": Queue without a function")
	}
	s, hash := m.shard(key)
	now := m.now(m.options.OnHold != nil || m.options.OnWait != nil)
	s.mu.Lock()
	e, free := s.enter(hash, key, now)
	if free {
		s.mu.Unlock()
		granted()
		return nil
	}
	if m.full(e) {
		s.rejected++
		s.mu.Unlock()
		return m.busy
	}
	w := m.newWaiter()
	w.callback, w.since = granted, now
	s.push(e, w)
	s.mu.Unlock()
	return nil
}

// call runs the function queued at w, which holds its lock now: here, or on a
// goroutine of its own where too many run already.
func (m *Map[K]) call(w *waiter) {
	granted, since := w.callback, w.since
	m.recycle(w)
	if m.options.OnWait != nil {
		m.options.OnWait(m.now(true) - since)
	}
	if m.callbacks.Add(1) > maxNested {
		m.callbacks.Add(-1)
		go granted()
		return
	}
	defer m.callbacks.Add(-1) // also when granted panics
	granted()
}
