package budget_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"quartet/kit/budget"
)

// model is a budget for one thread: what must hold after each operation,
// written down as plainly as possible.
type model struct {
	capacity, inUse int64
	closed          bool
	queue           []*request
}

// request is one Acquire, both what the model says of it and what happened.
type request struct {
	n      int64
	want   error // nil while it waits or holds
	holds  bool
	cancel context.CancelFunc
	lease  budget.Lease
	err    error
	ended  chan struct{}
}

func (m *model) acquire(r *request) {
	switch {
	case m.closed:
		r.want = budget.ErrClosed
	case r.n == 0:
		r.holds = true
	case r.n > m.capacity:
		r.want = budget.ErrTooLarge
	default:
		m.queue = append(m.queue, r)
		m.grant()
	}
}

func (m *model) grant() {
	for len(m.queue) > 0 && m.queue[0].n <= m.capacity-m.inUse {
		m.queue[0].holds = true
		m.inUse += m.queue[0].n
		m.queue = m.queue[1:]
	}
}

func (m *model) try(n int64) bool {
	if m.closed || n > 0 && (len(m.queue) > 0 || n > m.capacity-m.inUse) {
		return false
	}
	m.inUse += n
	return true
}

func (m *model) release(r *request) {
	r.holds = false
	m.inUse -= r.n
	m.grant()
}

func (m *model) cancel(r *request) {
	r.want = context.Canceled
	m.queue = slices.DeleteFunc(m.queue, func(other *request) bool { return other == r })
	m.grant()
}

func (m *model) resize(capacity int64) {
	m.capacity = capacity
	m.fail(func(r *request) bool { return r.n > capacity }, budget.ErrTooLarge)
	m.grant()
}

func (m *model) close() {
	m.closed = true
	m.fail(func(*request) bool { return true }, budget.ErrClosed)
}

func (m *model) fail(match func(*request) bool, err error) {
	for _, r := range m.queue {
		if match(r) {
			r.want = err
		}
	}
	m.queue = slices.DeleteFunc(m.queue, match)
}

// operate runs the operations that the bytes spell, two bytes each, on a
// budget and the model, and compares them after each.
func operate(t *testing.T, reclaim bool, ops []byte) {
	const capacity = 8
	m := &model{capacity: capacity}
	b := budget.New("test", capacity, budget.Options{Reclaim: reclaim})
	var requests []*request
	with := func(match func(*request) bool, i byte) *request {
		found := slices.DeleteFunc(slices.Clone(requests), func(r *request) bool { return !match(r) })
		if len(found) == 0 {
			return nil
		}
		return found[int(i)%len(found)]
	}
	holds := func(r *request) bool { return r.holds }
	waits := func(r *request) bool { return slices.Contains(m.queue, r) }
	for len(ops) >= 2 {
		op, arg := ops[0]%16, ops[1]
		ops = ops[2:]
		switch {
		case op < 5: // the most frequent, or the queue would hardly grow
			r := &request{n: int64(arg % (capacity + 3)), ended: make(chan struct{})}
			var ctx context.Context
			ctx, r.cancel = context.WithCancel(t.Context())
			requests = append(requests, r)
			m.acquire(r)
			go func() {
				defer close(r.ended)
				r.lease, r.err = b.Acquire(ctx, r.n)
			}()
		case op < 7:
			n := int64(arg % (capacity + 2))
			r := &request{n: n, holds: m.try(n), cancel: func() {}, ended: make(chan struct{})}
			var ok bool
			if r.lease, ok = b.TryAcquire(n); ok != r.holds {
				t.Fatalf("TryAcquire(%d) = %v, want %v", n, ok, r.holds)
			}
			close(r.ended)
			if ok {
				requests = append(requests, r)
			}
		case op < 11:
			if r := with(holds, arg); r != nil {
				m.release(r)
				r.lease.Release()
				r.lease.Release()
			}
		case op < 13:
			if r := with(waits, arg); r != nil {
				m.cancel(r)
				r.cancel()
			}
		case op < 15:
			m.resize(int64(arg % (2 * capacity)))
			b.Resize(m.capacity)
		case arg > 200:
			m.close()
			b.Close()
		}
		synctest.Wait()
		compare(t, m, b, requests)
	}
	for _, r := range m.queue {
		r.cancel()
	}
	synctest.Wait()
	for _, r := range requests {
		r.lease.Release()
		r.cancel()
	}
	if s := b.Stats(); s.InUse != 0 || s.Waiting != 0 || s.Reclaimed != 0 {
		t.Fatalf("left %+v", s)
	}
}

func compare(t *testing.T, m *model, b *budget.Budget, requests []*request) {
	t.Helper()
	s := b.Stats()
	if s.Capacity != m.capacity || s.InUse != m.inUse || s.Waiting != len(m.queue) {
		t.Fatalf("%d of %d in use, %d waiting; want %d of %d, %d",
			s.InUse, s.Capacity, s.Waiting, m.inUse, m.capacity, len(m.queue))
	}
	for i, r := range requests {
		waits := slices.Contains(m.queue, r)
		select {
		case <-r.ended:
			if waits {
				t.Fatalf("request %d of %d units should wait, got %v", i, r.n, r.err)
			}
			if !errors.Is(r.err, r.want) {
				t.Fatalf("request %d of %d units: %v, want %v", i, r.n, r.err, r.want)
			}
		default:
			if !waits {
				t.Fatalf("request %d of %d units waits, want it to have ended with %v", i, r.n, r.want)
			}
		}
	}
}

func TestAgreesWithTheModel(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		ops := make([]byte, 2*(1+r.IntN(100)))
		for i := range ops {
			ops[i] = byte(r.Uint32())
		}
		synctest.Test(t, func(t *testing.T) { operate(t, seed%2 == 0, ops) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzOperations(f *testing.F) {
	f.Add(false, []byte{0, 8, 0, 1, 0, 8, 7, 0, 7, 0, 7, 0})             // small behind large
	f.Add(true, []byte{0, 2, 0, 8, 0, 1, 0, 1, 11, 0, 7, 0})             // head of the queue gives up
	f.Add(false, []byte{0, 6, 0, 8, 0, 3, 13, 4, 13, 12, 7, 0, 7, 0})    // shrink, then grow
	f.Add(true, []byte{0, 6, 0, 8, 5, 1, 15, 255, 5, 0, 0, 1, 7, 0})     // close with a lease out
	f.Add(false, []byte{0, 0, 0, 10, 5, 0, 5, 9, 13, 0, 0, 0, 0, 1})     // nothing, and too much
	f.Add(true, []byte{0, 8, 7, 0, 0, 8, 7, 0, 5, 8, 7, 0, 15, 201, 13}) // handles recycled
	f.Fuzz(func(t *testing.T, reclaim bool, ops []byte) {
		ops = ops[:min(len(ops), 400)] // more only takes longer
		synctest.Test(t, func(t *testing.T) { operate(t, reclaim, ops) })
	})
}
