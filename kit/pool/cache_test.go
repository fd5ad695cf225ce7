package pool_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/pool"
)

var errDown = errors.New("down")

// source counts fetches, takes a second for each and fails while down.
type source struct {
	fetches, ended atomic.Int64
	down           atomic.Bool
	takes          time.Duration
}

func (s *source) fetch(ctx context.Context, key string) (string, error) {
	n := s.fetches.Add(1)
	defer s.ended.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if s.down.Load() {
		return "", errDown
	}
	return fmt.Sprint(key, n), nil
}

// bubble runs f in fake time with a cache of a source that takes a second.
func bubble(t *testing.T, o pool.CacheOptions, f func(t *testing.T, c *pool.Cache[string, string], s *source)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: time.Second}
		c := pool.NewCache("things", o, s.fetch)
		defer c.Close()
		f(t, c, s)
	})
}

func expect(t *testing.T, c *pool.Cache[string, string], key, want string, is error) {
	t.Helper()
	got, err := c.Get(t.Context(), key)
	if got != want || !errors.Is(err, is) {
		t.Errorf("Get(%q) = %q, %v; want %q, %v", key, got, err, want, is)
	}
}

func TestAValueLivesForItsTTL(t *testing.T) {
	bubble(t, pool.CacheOptions{TTL: time.Minute}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		if _, ok := c.Peek("a"); ok {
			t.Error("peeked at nothing")
		}
		expect(t, c, "a", "a1", nil)
		time.Sleep(time.Minute - 1)
		expect(t, c, "a", "a1", nil)
		if v, ok := c.Peek("a"); v != "a1" || !ok {
			t.Errorf("Peek = %q, %v", v, ok)
		}
		time.Sleep(time.Nanosecond)
		if _, ok := c.Peek("a"); ok {
			t.Error("peeked at a dead value")
		}
		expect(t, c, "a", "a2", nil)
		want := pool.CacheStats{Name: "things", Hits: 1, Misses: 2, Fetches: 2, Entries: 1}
		if st := c.Stats(); st != want {
			t.Errorf("stats %+v, want %+v", st, want)
		}
	})
}

func TestWithoutTTLNothingIsRemembered(t *testing.T) {
	bubble(t, pool.CacheOptions{}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		expect(t, c, "a", "a1", nil)
		expect(t, c, "a", "a2", nil)
		if st := c.Stats(); st.Entries != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestAnErrorIsRememberedForItsOwnTime(t *testing.T) {
	o := pool.CacheOptions{TTL: time.Minute, NegativeTTL: 5 * time.Second}
	bubble(t, o, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		s.down.Store(true)
		expect(t, c, "a", "", errDown)
		s.down.Store(false)
		time.Sleep(5*time.Second - 1)
		expect(t, c, "a", "", errDown)
		if _, ok := c.Peek("a"); ok {
			t.Error("peeked at an error")
		}
		time.Sleep(time.Nanosecond)
		expect(t, c, "a", "a2", nil)
		want := pool.CacheStats{Name: "things", Errors: 1, Misses: 2, Fetches: 2, Failures: 1, Entries: 1}
		if st := c.Stats(); st != want {
			t.Errorf("stats %+v, want %+v", st, want)
		}
	})
}

func TestAStaleValueIsServedDuringItsRefresh(t *testing.T) {
	o := pool.CacheOptions{TTL: time.Minute, StaleFor: time.Hour, NegativeTTL: 5 * time.Second}
	bubble(t, o, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		expect(t, c, "a", "a1", nil)
		time.Sleep(time.Minute)
		start := time.Now()
		for range 10 {
			expect(t, c, "a", "a1", nil)
		}
		if waited := time.Since(start); waited != 0 || s.fetches.Load() > 2 {
			t.Errorf("waited %v, %d fetches", waited, s.fetches.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		expect(t, c, "a", "a2", nil)

		// A failed refresh keeps the old value and is not tried again at once.
		s.down.Store(true)
		time.Sleep(time.Minute)
		expect(t, c, "a", "a2", nil)
		time.Sleep(time.Second)
		synctest.Wait()
		expect(t, c, "a", "a2", nil)
		time.Sleep(5*time.Second - 1)
		expect(t, c, "a", "a2", nil)
		synctest.Wait()
		if n := s.fetches.Load(); n != 3 {
			t.Errorf("%d fetches, want 3", n)
		}
		time.Sleep(time.Nanosecond)
		expect(t, c, "a", "a2", nil)
		time.Sleep(2 * time.Second)
		if n := s.fetches.Load(); n != 4 {
			t.Errorf("%d fetches, want 4", n)
		}
		time.Sleep(time.Hour)
		expect(t, c, "a", "", errDown) // too old now
		if st := c.Stats(); st.Stale != 14 || st.Failures != 3 || st.Entries != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestJitterOnlyShortens(t *testing.T) {
	o := pool.CacheOptions{TTL: 100 * time.Second, Jitter: 0.2, MaxEntries: 200}
	bubble(t, o, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		s.takes = 0
		live := func() (n int) {
			for i := range 200 {
				if _, ok := c.Peek(fmt.Sprint(i)); ok {
					n++
				}
			}
			return n
		}
		for i := range 200 {
			_, _ = c.Get(t.Context(), fmt.Sprint(i))
		}
		time.Sleep(80*time.Second - 1)
		early := live()
		time.Sleep(10 * time.Second)
		middle := live()
		time.Sleep(10*time.Second + 1)
		if late := live(); early != 200 || middle < 50 || middle > 150 || late != 0 {
			t.Errorf("%d, %d, %d of 200 alive", early, middle, late)
		}
	})
}

func TestOneFetchServesAllWhoWait(t *testing.T) {
	bubble(t, pool.CacheOptions{TTL: time.Minute}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { expect(t, c, "a", "a1", nil) })
		}
		// One gives up; the one who began it, perhaps.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		wg.Go(func() {
			if _, err := c.Get(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
		wg.Wait()
	})
}

func TestTheFirstCallersCancelHitsNobodyElse(t *testing.T) {
	bubble(t, pool.CacheOptions{TTL: time.Minute}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		errBored := errors.New("bored")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			if _, err := c.Get(ctx, "a"); !errors.Is(err, errBored) || !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		}()
		synctest.Wait()
		time.AfterFunc(time.Millisecond, func() { cancel(errBored) })
		expect(t, c, "a", "a1", nil)
	})
}

func TestAFetchNobodyWaitsForIsCancelled(t *testing.T) {
	bubble(t, pool.CacheOptions{TTL: time.Minute, NegativeTTL: time.Minute}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, _ = c.Get(ctx, "a") })
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		synctest.Wait()
		if s.ended.Load() != 1 {
			t.Error("the fetch goes on")
		}
		expect(t, c, "a", "a2", nil) // and its end is not remembered
		_, err := c.Get(ctx, "b")
		synctest.Wait()
		if !errors.Is(err, context.Canceled) || s.fetches.Load() != 2 {
			t.Errorf("a cancelled Get: %v, %d fetches", err, s.fetches.Load())
		}
		if got, err := c.Get(ctx, "a"); got != "a2" || err != nil {
			t.Errorf("a cancelled Get of a value at hand: %q, %v", got, err)
		}
	})
}

func TestARefreshGoesOnWithoutTheCallerWhoJoinedIt(t *testing.T) {
	o := pool.CacheOptions{TTL: time.Minute, StaleFor: 500 * time.Millisecond}
	bubble(t, o, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		expect(t, c, "a", "a1", nil)
		time.Sleep(time.Minute + 400*time.Millisecond)
		expect(t, c, "a", "a1", nil) // a refresh begins
		time.Sleep(200 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := c.Get(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		expect(t, c, "a", "a2", nil)
		if n := s.fetches.Load(); n != 2 {
			t.Errorf("%d fetches", n)
		}
	})
}

func TestForgetDuringAFetch(t *testing.T) {
	bubble(t, pool.CacheOptions{TTL: time.Minute, StaleFor: time.Hour}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		go expect(t, c, "a", "a1", nil) // still gets what it waits for
		synctest.Wait()
		c.Forget("a")
		time.Sleep(time.Millisecond)
		expect(t, c, "a", "a2", nil) // began after Forget
		expect(t, c, "a", "a2", nil) // and the first result did not replace it
		time.Sleep(time.Minute)
		expect(t, c, "a", "a2", nil) // stale: a refresh begins
		synctest.Wait()
		c.Forget("a")
		synctest.Wait()
		if s.ended.Load() != 3 {
			t.Error("a refresh nobody wants goes on")
		}
		if _, ok := c.Peek("a"); ok || c.Stats().Entries != 0 {
			t.Error("not forgotten")
		}
	})
}

func TestADeadlineFreesTheWaitersOfADeafFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := make(chan struct{})
		fetch := func(context.Context, string) (string, error) { <-deaf; return "late", nil }
		c := pool.NewCache("deaf", pool.CacheOptions{TTL: time.Minute, FetchTimeout: 3 * time.Second}, fetch)
		start := time.Now()
		expect(t, c, "a", "", context.DeadlineExceeded)
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("waited %v", waited)
		}
		close(deaf)
		synctest.Wait()
		if _, ok := c.Peek("a"); ok {
			t.Error("the late value is remembered")
		}
		c.Close()
	})
}

func TestAPanicIsAnErrorForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pool.NewCache("bad", pool.CacheOptions{}, func(_ context.Context, key string) (string, error) {
			time.Sleep(time.Second)
			if key == "exit" {
				runtime.Goexit()
			}
			panic("oops")
		})
		defer c.Close()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := c.Get(t.Context(), "a")
				p, ok := errors.AsType[*pool.PanicError](err)
				if !ok || p.Value != "oops" || len(p.Stack) == 0 || err.Error() != "bad: panic: oops" {
					t.Errorf("error %v", err)
				}
			})
			wg.Go(func() {
				if _, err := c.Get(t.Context(), "exit"); err == nil {
					t.Error("no error of a fetch that did not return")
				}
			})
		}
		wg.Wait()
	})
}

func TestCloseEndsFetches(t *testing.T) {
	bubble(t, pool.CacheOptions{TTL: time.Minute, StaleFor: time.Hour, NegativeTTL: time.Hour}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		expect(t, c, "a", "a1", nil)
		time.Sleep(time.Minute)
		expect(t, c, "a", "a1", nil) // refreshes
		go expect(t, c, "b", "", pool.ErrClosed)
		go expect(t, c, "c", "", pool.ErrClosed) // forgotten, still waited for
		synctest.Wait()
		c.Forget("c")
		start := time.Now()
		c.Close()
		if s.ended.Load() != 4 || time.Since(start) != 0 {
			t.Errorf("%d of 4 fetches ended, after %v", s.ended.Load(), time.Since(start))
		}
		expect(t, c, "a", "a1", nil) // at hand
		expect(t, c, "b", "", pool.ErrClosed)
		synctest.Wait()
		if n := s.fetches.Load(); n != 4 {
			t.Errorf("%d fetches", n)
		}
	})
}

type ctxKey struct{}

func TestAFetchHasTheValuesOfWhoWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []any
		c := pool.NewCache("values", pool.CacheOptions{TTL: time.Minute, StaleFor: time.Minute}, func(ctx context.Context, _ string) (string, error) {
			seen = append(seen, ctx.Value(ctxKey{}))
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("no deadline")
			}
			return "v", nil
		})
		defer c.Close()
		ctx := context.WithValue(t.Context(), ctxKey{}, "request")
		for range 2 { // the second is stale: nobody waits
			_, _ = c.Get(ctx, "a")
			synctest.Wait()
			time.Sleep(time.Minute)
		}
		if len(seen) != 2 || seen[0] != "request" || seen[1] != nil {
			t.Errorf("values %v", seen)
		}
	})
}

func TestWaitSeesEveryWaitAndNoHit(t *testing.T) {
	var begun, ended atomic.Int64
	var failed atomic.Int64
	o := pool.CacheOptions{TTL: time.Minute, Wait: func(context.Context) func(error) {
		begun.Add(1)
		return func(err error) {
			ended.Add(1)
			if err != nil {
				failed.Add(1)
			}
		}
	}}
	bubble(t, o, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { expect(t, c, "a", "a1", nil) })
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			_, _ = c.Get(ctx, "a")
		})
		wg.Wait()
		expect(t, c, "a", "a1", nil)
		if begun.Load() != 4 || ended.Load() != 4 || failed.Load() != 1 {
			t.Errorf("%d begun, %d ended, %d failed", begun.Load(), ended.Load(), failed.Load())
		}
	})
}

func TestWhatWasUsedLatelyStays(t *testing.T) {
	bubble(t, pool.CacheOptions{TTL: time.Hour, MaxEntries: 8}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		s.takes = 0
		expect(t, c, "hot", "hot1", nil)
		for i := range 100 {
			_, _ = c.Get(t.Context(), fmt.Sprint(i))
			expect(t, c, "hot", "hot1", nil)
			if n := c.Stats().Entries; n > 8 {
				t.Fatalf("%d entries", n)
			}
		}
		if st := c.Stats(); st.Evictions != 93 || st.Entries != 8 {
			t.Errorf("stats %+v", st)
		}
	})
}

func TestAnEvictionIsBounded(t *testing.T) {
	bubble(t, pool.CacheOptions{TTL: time.Hour, MaxEntries: 100}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		s.takes = 0
		for range 2 { // the second round uses all
			for i := range 100 {
				_, _ = c.Get(t.Context(), fmt.Sprint(i))
			}
		}
		_, _ = c.Get(t.Context(), "new")
		if st := c.Stats(); st.Evictions != 1 || st.Entries != 100 {
			t.Errorf("stats %+v", st)
		}
		for key, want := range map[string]bool{"new": true, "0": true, "15": true, "16": false, "99": true} {
			if _, ok := c.Peek(key); ok != want {
				t.Errorf("Peek(%s): %v", key, ok)
			}
		}
	})
}

func TestNegativeBoundsAreTheDefaults(t *testing.T) {
	bubble(t, pool.CacheOptions{TTL: time.Minute, MaxEntries: -1, FetchTimeout: -1}, func(t *testing.T, c *pool.Cache[string, string], s *source) {
		expect(t, c, "a", "a1", nil)
		expect(t, c, "a", "a1", nil)
	})
}
