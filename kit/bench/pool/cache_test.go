// Package pool_test measures kit/pool beside what one would take instead: a
// plain client of net/http, the instrumented ones of OpenTelemetry, maps without
// a TTL, and singleflight.
//
// What the peers leave out: otelhttp's duration ends at the answer's headers, and
// singleflight gives every caller the first one's context and panic.
package pool_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/singleflight"

	"quartet/kit/bench/cpu"
	"quartet/kit/pool"
)

const keys = 1000

// lookups are caches of the numbers below keys; only quartet's knows time.
func lookups(b *testing.B) map[string]func(string) int {
	c := pool.NewCache("bench", pool.CacheOptions{TTL: time.Hour}, func(_ context.Context, key string) (int, error) {
		return strconv.Atoi(key)
	})
	b.Cleanup(c.Close)
	var syncMap sync.Map
	var mu sync.RWMutex
	plain := map[string]int{}
	ctx := context.Background()
	for i := range keys {
		key := strconv.Itoa(i)
		if _, err := c.Get(ctx, key); err != nil {
			b.Fatal(err)
		}
		syncMap.Store(key, i)
		plain[key] = i
	}
	return map[string]func(string) int{
		"quartet": func(key string) int { v, _ := c.Get(ctx, key); return v },
		"syncmap": func(key string) int { v, _ := syncMap.Load(key); return v.(int) },
		"rwmutex": func(key string) int { mu.RLock(); defer mu.RUnlock(); return plain[key] },
		"rwmutex+clock": func(key string) int { // what any cache with a TTL pays at least
			if time.Since(start) < 0 {
				return -1
			}
			mu.RLock()
			defer mu.RUnlock()
			return plain[key]
		},
	}
}

var start = time.Now()

var lookupNames = []string{"quartet", "syncmap", "rwmutex", "rwmutex+clock"}

func BenchmarkCacheHit(b *testing.B) {
	all := lookups(b)
	for _, name := range lookupNames {
		b.Run(name, func(b *testing.B) {
			get := all[name]
			b.ReportAllocs()
			defer cpu.PerOp(b)()
			for b.Loop() {
				if get("777") != 777 {
					b.Fatal("wrong value")
				}
			}
		})
	}
}

func BenchmarkCacheHitParallel(b *testing.B) {
	all := lookups(b)
	for _, name := range lookupNames {
		b.Run(name, func(b *testing.B) {
			get := all[name]
			b.ReportAllocs()
			defer cpu.PerOp(b)()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if get("777") != 777 {
						b.Error("wrong value")
						return
					}
				}
			})
		})
	}
}

// BenchmarkFlight is a fetch that nobody shares. Quartet's runs on a goroutine
// of its own with a deadline, so that callers can give up one by one;
// singleflight's Do runs on its caller's, DoChan on its own without a deadline.
func BenchmarkFlight(b *testing.B) {
	ctx := context.Background()
	fetch := func(context.Context, string) (int, error) { return 1, nil }
	c := pool.NewCache("bench", pool.CacheOptions{}, fetch)
	b.Cleanup(c.Close)
	var group singleflight.Group
	shared := func() (any, error) { return fetch(ctx, "k") }
	for _, bc := range []struct {
		name string
		do   func()
	}{
		{"quartet", func() { _, _ = c.Get(ctx, "k") }},
		{"singleflight", func() { _, _, _ = group.Do("k", shared) }},
		{"singleflight+chan", func() { <-group.DoChan("k", shared) }},
		{"singleflight+chan+deadline", func() {
			<-group.DoChan("k", func() (any, error) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
				defer cancel()
				return fetch(ctx, "k")
			})
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			defer cpu.PerOp(b)()
			for b.Loop() {
				bc.do()
			}
		})
	}
}
