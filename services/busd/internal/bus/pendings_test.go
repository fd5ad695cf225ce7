package bus

import (
	"math/rand/v2"
	"testing"
)

// The table of pending replies is a map by caller, callee and serial, and both
// peers' lists are what is in it.
func TestPendingRepliesAreAMap(t *testing.T) {
	type key struct {
		caller, callee *Peer
		serial         uint32
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		peers := make([]*Peer, 6)
		for i := range peers {
			peers[i] = &Peer{id: uint64(i + 1)}
		}
		var table pendings
		model := map[key]*pending{}
		for step := range 6000 {
			k := key{peers[r.IntN(len(peers))], peers[r.IntN(len(peers))], r.Uint32N(200)}
			at := table.find(k.caller, k.callee, k.serial)
			switch {
			case (at == nil) != (model[k] == nil) || at != nil && *at != model[k]:
				t.Fatalf("seed %d, step %d: find disagrees with the model", seed, step)
			case at == nil && step%2000 < 1200: // it grows, and shrinks again
				model[k] = table.add(k.caller, k.callee, k.serial)
			case at != nil && (step%2000 >= 1200 || r.IntN(4) == 0):
				table.remove(at)
				delete(model, k)
			}
			if step%2000 == 1999 {
				for k := range model {
					table.remove(table.find(k.caller, k.callee, k.serial))
				}
				clear(model)
			}
			if table.count != len(model) {
				t.Fatalf("seed %d, step %d: %d pending, want %d", seed, step, table.count, len(model))
			}
			if step%50 != 0 {
				continue
			}
			for _, p := range peers {
				asked, owes := 0, 0
				for k := range model {
					if k.caller == p {
						asked++
					}
					if k.callee == p {
						owes++
					}
				}
				for c := p.asked; c != nil; c = c.ofCaller.after {
					asked--
				}
				for c := p.owes; c != nil; c = c.ofCallee.after {
					owes--
				}
				if asked != 0 || owes != 0 {
					t.Fatalf("seed %d, step %d: lists are off by %d and %d", seed, step, asked, owes)
				}
			}
		}
	}
}

// Serials that share a bucket in one table do not in another, so nobody can
// choose them so that every call is looked for among all others.
func TestPendingRepliesAreSpread(t *testing.T) {
	caller, callee := &Peer{id: 1}, &Peer{id: 2}
	const size, chosen, longest = 4096, 256, 32
	var known, other pendings
	known.resize(size)
	other.resize(size)
	for serial := uint32(1); other.count < chosen; serial++ {
		if known.bucket(caller, callee, serial) == &known.buckets[0] {
			other.add(caller, callee, serial)
		}
	}
	for _, c := range other.buckets {
		n := 0
		for ; c != nil; c = c.next {
			n++
		}
		if n > longest {
			t.Errorf("%d of %d pending replies are in one of %d buckets", n, chosen, size)
		}
	}
}

// What the pool of buffers gives is as long as was asked for, belongs to
// nobody else, and is taken back up to a bound.
func TestBuffersAreUsedByOneAtATime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var pool buffers
	var held [][]byte
	for step := range 5000 {
		if n := len(held); n > 0 && r.IntN(2) == 0 {
			i := r.IntN(n)
			for _, c := range held[i] {
				if c != held[i][0] {
					t.Fatalf("step %d: a buffer was written by another", step)
				}
			}
			pool.put(held[i])
			held = append(held[:i], held[i+1:]...)
			continue
		}
		size := 1 + r.IntN(1<<(r.IntN(18)))
		buf := pool.get(size)
		if len(buf) != size || cap(buf) < size || cap(buf)&(cap(buf)-1) != 0 {
			t.Fatalf("%d bytes wanted: length %d, capacity %d", size, len(buf), cap(buf))
		}
		for i := range buf {
			buf[i] = byte(step)
		}
		held = append(held, buf)
		if pool.kept > keptBytes {
			t.Fatalf("%d bytes are kept", pool.kept)
		}
	}
	for _, buf := range held {
		pool.put(buf)
	}
	total := 0
	for _, list := range pool.free {
		for _, buf := range list {
			total += cap(buf)
		}
	}
	if total != pool.kept {
		t.Errorf("%d bytes are kept, and %d counted", total, pool.kept)
	}
	if pool.drop(); pool.kept != 0 {
		t.Error("something is kept")
	}
	for _, n := range []int{0, 1, 1024, 1025, 1 << 20, 1<<27 - 1, 1 << 27} {
		if buf := pool.get(n); len(buf) != n {
			t.Errorf("%d bytes wanted, %d got", n, len(buf))
		}
	}
}
