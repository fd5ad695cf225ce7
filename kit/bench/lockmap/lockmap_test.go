// Package lockmap measures kit/lockmap beside other locks by key.
//
// No peer has the same semantics; what each lacks stands at its constructor.
// The fair comparison of the hand-over is with semaphores, the only other
// strictly ordered one: the locks made of sync.Mutex let a running goroutine
// overtake those who sleep, which is cheap and which lockmap promises not to do.
package lockmap

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/moby/locker"
	"golang.org/x/sync/semaphore"
	"k8s.io/utils/keymutex"

	"quartet/kit/bench/cpu"
	"quartet/kit/lockmap"
)

// peer is one lock by key under test.
type peer struct {
	name   string
	lock   func(ctx context.Context, key string)
	unlock func(key string)
}

func peers() []peer {
	return []peer{quartet(), semaphores(), moby(), hashed(), leaky()}
}

func quartet() peer {
	m := lockmap.New[string]("bench", lockmap.Options{})
	return peer{"lockmap", func(ctx context.Context, key string) {
		if err := m.Lock(ctx, key); err != nil {
			panic(err)
		}
	}, m.Unlock}
}

// semaphores is a map of counted weighted semaphores, as containerd's kmutex.
// It is first in, first out and honours contexts, but has one mutex for all
// keys, no cap on waiters and no asynchronous lock, and makes two objects a
// lock and two a wait.
func semaphores() peer {
	type counted struct {
		*semaphore.Weighted
		refs int
	}
	var mu sync.Mutex
	all := map[string]*counted{}
	lock := func(ctx context.Context, key string) {
		mu.Lock()
		c := all[key]
		if c == nil {
			c = &counted{Weighted: semaphore.NewWeighted(1)}
			all[key] = c
		}
		c.refs++
		mu.Unlock()
		if err := c.Acquire(ctx, 1); err != nil {
			panic(err)
		}
	}
	unlock := func(key string) {
		mu.Lock()
		defer mu.Unlock()
		c := all[key]
		c.Release(1)
		if c.refs--; c.refs == 0 {
			delete(all, key)
		}
	}
	return peer{"semaphores", lock, unlock}
}

// moby is moby/locker: no contexts, no order (its waiters sleep on a
// sync.Mutex), one mutex for all keys, no cap.
func moby() peer {
	l := locker.New()
	return peer{"moby-locker", func(_ context.Context, key string) { l.Lock(key) }, func(key string) {
		if err := l.Unlock(key); err != nil {
			panic(err)
		}
	}}
}

// hashed is Kubernetes' keymutex: a fixed number of mutexes, so that unrelated
// keys wait for each other and a goroutine that holds two may deadlock with
// itself; no contexts, no order, no cap.
func hashed() peer {
	l := keymutex.NewHashed(64)
	return peer{"k8s-hashed", func(_ context.Context, key string) { l.LockKey(key) }, func(key string) {
		if err := l.UnlockKey(key); err != nil {
			panic(err)
		}
	}}
}

// leaky is the usual sync.Map of mutexes: an entry stays for every key ever
// seen; no contexts, no order, no cap.
func leaky() peer {
	var m sync.Map
	of := func(key string) *sync.Mutex {
		if v, ok := m.Load(key); ok {
			return v.(*sync.Mutex)
		}
		v, _ := m.LoadOrStore(key, new(sync.Mutex))
		return v.(*sync.Mutex)
	}
	return peer{"syncmap-leaky", func(_ context.Context, key string) { of(key).Lock() }, func(key string) { of(key).Unlock() }}
}

// keys are as long as what the services lock by: telephone numbers, ids.
func keys(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("+155501%05d", i)
	}
	return all
}

func BenchmarkUncontended(b *testing.B) {
	all := keys(1024)
	for _, p := range peers() {
		b.Run(p.name, func(b *testing.B) {
			ctx, i := b.Context(), 0
			b.ReportAllocs()
			defer cpu.PerOp(b)()
			for b.Loop() {
				key := all[i%len(all)]
				i++
				p.lock(ctx, key)
				p.unlock(key)
			}
		})
	}
}

func BenchmarkDistinctKeysParallel(b *testing.B) {
	all := keys(4096)
	for _, p := range peers() {
		b.Run(p.name, func(b *testing.B) {
			var worker atomic.Int64
			ctx := b.Context()
			b.ReportAllocs()
			defer cpu.PerOp(b)()
			b.RunParallel(func(pb *testing.PB) {
				i := int(worker.Add(1)) * 1000
				for pb.Next() {
					key := all[i%len(all)]
					i++
					p.lock(ctx, key)
					p.unlock(key)
				}
			})
		})
	}
}

// BenchmarkHandover has 32 goroutines take the same key in turn.
func BenchmarkHandover(b *testing.B) {
	const goroutines = 32
	for _, p := range peers() {
		b.Run(fmt.Sprintf("%s/goroutines=%d", p.name, goroutines), func(b *testing.B) {
			ctx := b.Context()
			b.ReportAllocs()
			defer cpu.PerOp(b)()
			var left atomic.Int64
			left.Store(int64(b.N))
			var group sync.WaitGroup
			for range goroutines {
				group.Go(func() {
					for left.Add(-1) >= 0 {
						p.lock(ctx, "key")
						p.unlock("key")
					}
				})
			}
			group.Wait()
		})
	}
}

// BenchmarkQueue has 31 functions await a key that each unlocks at once.
func BenchmarkQueue(b *testing.B) {
	m := lockmap.New[string]("bench", lockmap.Options{})
	unlock := func() { m.Unlock("key") }
	b.ReportAllocs()
	defer cpu.PerOp(b)()
	for n := 0; n < b.N; n += 32 {
		if !m.TryLock("key") {
			b.Fatal("the key is still held")
		}
		for range 31 {
			if err := m.Queue("key", unlock); err != nil {
				b.Fatal(err)
			}
		}
		m.Unlock("key")
	}
}
