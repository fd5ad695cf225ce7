package lockmap

import (
	"context"
	"time"
)

// waiter is one place in the queue of a key. While it is queued it belongs to
// its shard. A goroutine in Lock takes it back once it has its token or has
// left the queue; one of Queue belongs to the unlocker who took it off.
type waiter struct {
	ready      chan struct{} // one slot, so that granting never blocks
	granted    bool          // guarded by the shard's mu until the token is received
	callback   func()        // of Queue; nil for a goroutine in Lock
	since      time.Duration // when Queue was called, if a hook wants to know
	prev, next *waiter
}

func (m *Map[K]) newWaiter() *waiter {
	if w, ok := m.waiters.Get().(*waiter); ok {
		return w
	}
	return &waiter{ready: make(chan struct{}, 1)}
}

// recycle takes back a waiter that nobody else knows and whose slot is empty.
func (m *Map[K]) recycle(w *waiter) {
	w.granted, w.callback, w.since = false, nil, 0
	m.waiters.Put(w)
}

// await blocks until w is granted or ctx is done, and recycles w.
func (m *Map[K]) await(ctx context.Context, key K, s *shard[K], e *entry[K], w *waiter) error {
	began := m.now(m.options.OnWait != nil)
	select {
	case <-w.ready:
	case <-ctx.Done():
		if !s.abandon(e, w) {
			<-w.ready // granted meanwhile: the token is there or on its way
		}
	}
	granted := w.granted
	m.recycle(w)
	if m.options.OnWait != nil {
		m.options.OnWait(m.now(true) - began)
	}
	if ctx.Err() == nil {
		return nil
	}
	if granted {
		if _, queued := m.release(key); queued != nil {
			m.call(queued)
		}
	}
	return m.cancelled(ctx)
}

// push puts w at the end of the queue. The caller holds mu.
func (s *shard[K]) push(e *entry[K], w *waiter) {
	if w.prev = e.tail; e.tail == nil {
		e.head = w
	} else {
		e.tail.next = w
	}
	e.tail = w
	e.waiting++
	s.waiting++
}

// unlink takes w out of the queue, wherever it stands. The caller holds mu.
func (s *shard[K]) unlink(e *entry[K], w *waiter) {
	if w.prev == nil {
		e.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		e.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	e.waiting--
	s.waiting--
}

// abandon takes w out of the queue unless it was granted meanwhile, and says
// whether it did.
func (s *shard[K]) abandon(e *entry[K], w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.granted {
		return false
	}
	s.unlink(e, w)
	return true
}

// release hands the lock of key on, and says how long it had been held if
// OnHold wants to know. A goroutine that waits has it then; the place of a
// queued function is returned for call, once the caller is through with its own.
func (m *Map[K]) release(key K) (held time.Duration, queued *waiter) {
	s, hash := m.shard(key)
	now := m.now(m.options.OnHold != nil)
	s.mu.Lock()
	e := s.find(hash, key)
	if e == nil {
		s.mu.Unlock()
		panic("lockmap " + m.name + ": unlock of a key that is not locked")
	}
	held = now - e.since
	w := e.head
	if w == nil {
		s.drop(e)
		s.mu.Unlock()
		return held, nil
	}
	s.unlink(e, w)
	e.since = now
	w.granted = true
	s.mu.Unlock()
	if w.callback != nil {
		return held, w
	}
	w.ready <- struct{}{}
	return held, nil
}
