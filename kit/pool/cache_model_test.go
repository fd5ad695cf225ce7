package pool_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/pool"
)

// remembered is what the model knows of a key.
type remembered struct {
	val                string
	failed             bool
	fresh, dead, retry time.Time
}

// model is a cache whose fetches take no time.
type model struct {
	o       pool.CacheOptions
	known   map[string]remembered
	fetches int
	down    bool
}

func (m *model) fetch(key string) {
	m.fetches++
	now := time.Now()
	old := m.known[key]
	switch {
	case !m.down:
		fresh := now.Add(m.o.TTL)
		m.known[key] = remembered{val: fmt.Sprint(key, m.fetches), fresh: fresh, dead: fresh.Add(m.o.StaleFor)}
	case !old.failed && now.Before(old.dead):
		old.retry = now.Add(m.o.NegativeTTL)
		m.known[key] = old
	default:
		until := now.Add(m.o.NegativeTTL)
		m.known[key] = remembered{failed: true, fresh: until, dead: until}
	}
}

// get returns what Get must, "" for an error.
func (m *model) get(key string) string {
	now := time.Now()
	r := m.known[key]
	if now.Before(r.fresh) {
		return r.val
	}
	if now.Before(r.dead) {
		if !now.Before(r.retry) {
			m.fetch(key)
		}
		return r.val
	}
	m.fetch(key)
	if m.down {
		return ""
	}
	return m.known[key].val
}

// FuzzCacheKeepsToItsModel plays operations on a cache and on a model.
func FuzzCacheKeepsToItsModel(f *testing.F) {
	f.Add([]byte{0, 1, 2, 0, 40, 0, 80, 4, 0, 5, 120, 0, 3, 0})
	f.Add([]byte{5, 0, 0, 41, 0, 5, 0, 200, 0, 1, 2})
	f.Add([]byte{0, 60, 5, 0, 60, 0, 41, 0, 200, 200, 0, 5, 0})
	f.Add([]byte{0, 8, 16, 3, 60, 60, 8, 11, 8, 24, 255, 255, 255, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		synctest.Test(t, func(t *testing.T) { play(t, ops[:min(len(ops), 300)]) })
	})
}

func play(t *testing.T, ops []byte) {
	o := pool.CacheOptions{TTL: 30 * time.Second, NegativeTTL: 7 * time.Second, StaleFor: 45 * time.Second}
	m := &model{o: o, known: map[string]remembered{}}
	s := &source{}
	c := pool.NewCache("model", o, s.fetch)
	defer c.Close()
	for i, op := range ops {
		key := string(rune('a' + op>>3%4))
		switch {
		case op >= 32:
			time.Sleep(time.Duration(op-31) * time.Second / 4)
		case op%8 <= 2:
			got, err := c.Get(t.Context(), key)
			if want := m.get(key); got != want || (err != nil) != (want == "") {
				t.Fatalf("step %d: Get(%s) = %q, %v; want %q", i, key, got, err, want)
			}
		case op%8 == 3:
			c.Forget(key)
			delete(m.known, key)
		case op%8 == 4:
			r := m.known[key]
			want := !r.failed && time.Now().Before(r.dead)
			if got, ok := c.Peek(key); ok != want || ok && got != r.val {
				t.Fatalf("step %d: Peek(%s) = %q, %v; want %q, %v", i, key, got, ok, r.val, want)
			}
		default:
			m.down = !m.down
			s.down.Store(m.down)
		}
		synctest.Wait()
		if st := c.Stats(); st.Fetches != uint64(m.fetches) || st.Entries > len(m.known) {
			t.Fatalf("step %d: %+v; want %d fetches, at most %d entries", i, st, m.fetches, len(m.known))
		}
	}
}

// Everything at once, in real time: values belong to their keys, a caller gets
// its own cancellation or the fetch's error, and the counts add up.
func TestCacheStorm(t *testing.T) {
	errFetch := errors.New("fetch")
	var running atomic.Int64
	o := pool.CacheOptions{TTL: time.Millisecond, StaleFor: time.Millisecond, NegativeTTL: time.Millisecond / 2, Jitter: 0.5, MaxEntries: 6, FetchTimeout: time.Minute}
	c := pool.NewCache("storm", o, func(ctx context.Context, key int) (int, error) {
		running.Add(1)
		defer running.Add(-1)
		switch rand.IntN(8) {
		case 0:
			return 0, errFetch
		case 1:
			panic("storm")
		case 2:
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
		return key * 10, nil
	})
	var gets atomic.Uint64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				key := 1 + rand.IntN(10)
				switch rand.IntN(20) {
				case 0:
					c.Forget(key)
				case 1:
					if v, ok := c.Peek(key); ok && v != key*10 {
						t.Errorf("Peek(%d) = %d", key, v)
					}
				}
				gets.Add(1)
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(3) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(200))*time.Microsecond, cancel)
				}
				v, err := c.Get(ctx, key)
				_, panicked := errors.AsType[*pool.PanicError](err)
				switch {
				case err == nil && v == key*10, errors.Is(err, errFetch), panicked:
				case errors.Is(err, context.Canceled) && ctx.Err() != nil:
				default:
					t.Errorf("Get(%d) = %d, %v", key, v, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	c.Close()
	st := c.Stats()
	if n := st.Hits + st.Stale + st.Errors + st.Misses; n > gets.Load() || st.Hits == 0 || st.Stale == 0 || st.Errors == 0 || st.Evictions == 0 {
		t.Errorf("%+v of %d gets", st, gets.Load())
	}
	if running.Load() != 0 || st.Entries > 6 {
		t.Errorf("%d fetches run after Close, %+v", running.Load(), st)
	}
}
