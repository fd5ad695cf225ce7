package name_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"quartet/services/busd/internal/name"
)

// model is the specification read aloud: a slice for each name.
type model struct {
	queues map[string][]waiting
	asked  map[string][]string // by connection, in the order of joining
}

type waiting struct {
	who   string
	flags uint32
}

func (m *model) find(n, who string) int {
	return slices.IndexFunc(m.queues[n], func(w waiting) bool { return w.who == who })
}

func (m *model) owner(n string) string {
	if q := m.queues[n]; len(q) > 0 {
		return q[0].who
	}
	return ""
}

func (m *model) request(n, who string, flags uint32) uint32 {
	q, at := m.queues[n], m.find(n, who)
	me := waiting{who, flags}
	switch {
	case len(q) == 0:
		m.queues[n] = []waiting{me}
		m.asked[who] = append(m.asked[who], n)
		return 1
	case at == 0:
		q[0] = me
		return 4
	}
	replaces := flags&2 != 0 && q[0].flags&1 != 0
	if at < 0 {
		m.asked[who] = append(m.asked[who], n)
		q, at = append(q, me), len(q)
	}
	q[at] = me
	if flags&2 != 0 {
		q = slices.Insert(slices.Delete(q, at, at+1), 1, me)
	}
	if replaces {
		q[0], q[1] = q[1], q[0]
	}
	m.queues[n] = q
	for _, w := range slices.Clone(q[1:]) {
		// Others can only be here with the flag if they owned the name.
		if w.flags&4 != 0 && (w.who == who || replaces) {
			m.remove(n, w.who)
		}
	}
	switch {
	case replaces:
		return 1
	case flags&4 != 0:
		return 3
	}
	return 2
}

func (m *model) remove(n, who string) {
	at := m.find(n, who)
	m.queues[n] = slices.Delete(m.queues[n], at, at+1)
	m.asked[who] = slices.DeleteFunc(m.asked[who], func(a string) bool { return a == n })
}

func (m *model) release(n, who string) uint32 {
	switch {
	case len(m.queues[n]) == 0:
		return 2
	case m.find(n, who) < 0:
		return 3
	}
	m.remove(n, who)
	return 1
}

// TestRandomOperationsAgreeWithTheModel compares every answer and, after every
// operation, all that can be asked.
func TestRandomOperationsAgreeWithTheModel(t *testing.T) {
	names := []string{"a.b", "a.b.c", "a.bc", "x.y"}
	peers := []string{"A", "B", "C", "D", "E", "F"}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 11))
		var r name.Registry[string]
		m := model{queues: map[string][]waiting{}, asked: map[string][]string{}}
		for step := range 400 {
			n, who := names[rng.IntN(len(names))], peers[rng.IntN(len(peers))]
			before := m.owner(n)
			var got, want uint32
			var c name.Change[string]
			var changed bool
			switch op := rng.IntN(20); {
			case op < 13:
				flags := uint32(rng.IntN(8))
				got, c, changed = r.Request(n, who, flags)
				want = m.request(n, who, flags)
			case op < 19:
				got, c, changed = r.Release(n, who)
				want = m.release(n, who)
			default:
				checkReleaseAll(t, &r, &m, who)
				before = m.owner(n)
			}
			if got != want || changed != (before != m.owner(n)) ||
				changed && c != (name.Change[string]{Name: n, Old: before, New: m.owner(n)}) {
				t.Fatalf("seed %d, step %d: reply %d, want %d; change %v of %v", seed, step, got, want, changed, c)
			}
			checkSame(t, &r, &m, peers)
		}
	}
}

// checkReleaseAll releases all of who from both.
func checkReleaseAll(t *testing.T, r *name.Registry[string], m *model, who string) {
	t.Helper()
	var want []name.Change[string]
	asked := slices.Clone(m.asked[who])
	slices.Reverse(asked)
	for _, n := range asked {
		before := m.owner(n)
		m.remove(n, who)
		if before == who {
			want = append(want, name.Change[string]{Name: n, Old: who, New: m.owner(n)})
		}
	}
	if got := r.ReleaseAll(who); !slices.Equal(got, want) {
		t.Fatalf("releasing all of %s changes %v, want %v", who, got, want)
	}
}

// checkSame asks both everything.
func checkSame(t *testing.T, r *name.Registry[string], m *model, peers []string) {
	t.Helper()
	maps.DeleteFunc(m.queues, func(_ string, q []waiting) bool { return len(q) == 0 })
	if got, want := r.Names(), slices.Sorted(maps.Keys(m.queues)); !slices.Equal(got, want) || r.Len() != len(want) {
		t.Fatalf("names %v, want %v", got, want)
	}
	for n, q := range m.queues {
		var want []string
		for _, w := range q {
			want = append(want, w.who)
		}
		if got := r.Queue(n); !slices.Equal(got, want) {
			t.Fatalf("queue of %s is %v, want %v", n, got, want)
		}
		if got, ok := r.Owner(n); got != want[0] || !ok {
			t.Fatalf("owner of %s is %s, want %s", n, got, want[0])
		}
	}
	for _, who := range peers {
		for _, n := range m.asked[who] {
			if !r.IsOwnerOrQueued(who, n) {
				t.Fatalf("%s is not at %s", who, n)
			}
		}
		if got, want := r.Count(who), len(m.asked[who]); got != want {
			t.Fatalf("%s is at %d names, want %d", who, got, want)
		}
	}
}

func BenchmarkRequestRelease(b *testing.B) {
	for _, queue := range []int{0, 10000} {
		b.Run(fmt.Sprintf("queue=%d", queue), func(b *testing.B) {
			var r name.Registry[int]
			for i := range queue {
				r.Request("org.example.Name", i+2, 0)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Request("org.example.Name", 1, 0)
				r.Release("org.example.Name", 1)
			}
		})
	}
}
