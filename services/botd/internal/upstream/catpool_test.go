package upstream_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/upstream"
)

// source is where a pool's pictures come from: each is another, named a, b, c...
// and takes a second.
type source struct {
	mu      sync.Mutex
	next    byte
	size    int   // bytes of each
	err     error // instead of one
	same    bool  // always the same one
	now     int
	most    int // at a time
	fetched int
}

func (s *source) fetch(ctx context.Context) (upstream.Picture, error) {
	s.mu.Lock()
	s.fetched++
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.now--; s.mu.Unlock() }()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return upstream.Picture{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return upstream.Picture{}, s.err
	}
	p := upstream.Picture{ContentType: "image/png", Data: []byte(strings.Repeat(string('a'+s.next%26), max(s.size, 1)))}
	if !s.same {
		s.next++
	}
	return p, nil
}

func (s *source) fails(err error) { s.mu.Lock(); s.err = err; s.mu.Unlock() }

func (s *source) count() int { s.mu.Lock(); defer s.mu.Unlock(); return s.fetched }

// pooled lets test have a pool that runs, full if it can be.
func pooled(t *testing.T, s *source, o upstream.CatPoolOptions, test func(t *testing.T, p *upstream.CatPool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Log = slog.New(slog.DiscardHandler)
		p := upstream.NewCatPool(s.fetch, o)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		time.Sleep(time.Duration(o.Ready)*time.Second + 1)
		synctest.Wait()
		test(t, p)
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// names asks n times and returns the names of the pictures.
func names(t *testing.T, p *upstream.CatPool, n int) string {
	t.Helper()
	var out strings.Builder
	for range n {
		picture, err := p.Random(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out.WriteByte(picture.Data[0])
	}
	return out.String()
}

func TestPicturesAreReadyAndOthersTakeTheirPlace(t *testing.T) {
	s := &source{}
	pooled(t, s, upstream.CatPoolOptions{Ready: 3, Keep: 2}, func(t *testing.T, p *upstream.CatPool) {
		began := time.Now()
		if got := names(t, p, 3); got != "abc" || time.Since(began) != 0 {
			t.Errorf("%q after %v", got, time.Since(began))
		}
		time.Sleep(time.Hour)
		if got := p.Stats(); got != (upstream.CatPoolStats{Ready: 3, Kept: 2, Bytes: 5, Warm: 3}) || s.count() != 6 || s.most != 1 {
			t.Errorf("%+v after %d fetches, %d at a time", got, s.count(), s.most)
		}
	})
}

func TestWhoFindsNoneReadyIsFetchedOne(t *testing.T) {
	s := &source{}
	pooled(t, s, upstream.CatPoolOptions{Ready: 1}, func(t *testing.T, p *upstream.CatPool) {
		began := time.Now()
		if got := names(t, p, 2); len(got) != 2 || got[0] == got[1] || time.Since(began) != time.Second {
			t.Errorf("%q after %v", got, time.Since(began))
		}
		if got := p.Stats(); got.Warm != 1 || got.Direct != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestWithoutAPoolEachIsFetched(t *testing.T) {
	s := &source{}
	pooled(t, s, upstream.CatPoolOptions{}, func(t *testing.T, p *upstream.CatPool) {
		if got := names(t, p, 3); got != "abc" || s.count() != 3 {
			t.Errorf("%q in %d fetches", got, s.count())
		}
		if got := p.Stats(); got != (upstream.CatPoolStats{Direct: 3}) {
			t.Errorf("%+v", got)
		}
		s.fails(errDown)
		if _, err := p.Random(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("error %v", err)
		}
	})
}

var errDown = errors.New("down")

func TestWhileThereAreNoOthersTheLastAreGivenAgain(t *testing.T) {
	s := &source{}
	pooled(t, s, upstream.CatPoolOptions{Ready: 2, Keep: 3}, func(t *testing.T, p *upstream.CatPool) {
		names(t, p, 2) // a, b
		time.Sleep(time.Hour)
		s.fails(errDown)
		if got := names(t, p, 7); got != "cdbcdbc" {
			t.Errorf("%q; want what is ready, then those given last, the longest ago first", got)
		}
		if got := p.Stats(); got.Again != 5 || got.Kept != 3 || got.Failed == 0 {
			t.Errorf("%+v", got)
		}
		s.fails(nil)
		time.Sleep(time.Hour)
		if got := names(t, p, 2); got != "ef" {
			t.Errorf("%q when it is well again", got)
		}
	})
}

func TestNobodyWaitsLongForAFreshOneWhoCanHaveOneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := false
		p := upstream.NewCatPool(func(ctx context.Context) (upstream.Picture, error) {
			if hang {
				<-ctx.Done()
				return upstream.Picture{}, ctx.Err()
			}
			return upstream.Picture{Data: []byte("a")}, nil
		}, upstream.CatPoolOptions{Keep: 1})
		names(t, p, 1)
		hang = true
		began := time.Now()
		if got := names(t, p, 1); got != "a" || time.Since(began) != 5*time.Second {
			t.Errorf("%q after %v", got, time.Since(began))
		}
	})
}

func TestTheSameIsNotGivenTwiceInARowWhileAnotherIsThere(t *testing.T) {
	s := &source{same: true}
	pooled(t, s, upstream.CatPoolOptions{Ready: 3}, func(t *testing.T, p *upstream.CatPool) {
		if got := names(t, p, 1); got != "a" { // two more of it are ready
			t.Fatal(got)
		}
		s.mu.Lock()
		s.next, s.same = 1, false
		s.mu.Unlock()
		time.Sleep(2 * time.Second)
		if got := names(t, p, 3); got != "baa" {
			t.Errorf("%q", got)
		}
	})
}

func TestAnAskerWhoLeavesHarmsNobody(t *testing.T) {
	s := &source{}
	pooled(t, s, upstream.CatPoolOptions{Ready: 1, Keep: 1}, func(t *testing.T, p *upstream.CatPool) {
		names(t, p, 1)
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, leave)
		if _, err := p.Random(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left: %v", err)
		}
		time.Sleep(time.Second)
		if got := p.Stats(); got.Ready != 1 || got.Failed != 0 {
			t.Errorf("%+v: the refill beside it did not end well", got)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Random(gone); err != nil {
			t.Errorf("a picture that is ready costs nothing: %v", err)
		}
	})
}

func TestThePoolIsBoundedInBytes(t *testing.T) {
	s := &source{size: 5 << 20}
	pooled(t, s, upstream.CatPoolOptions{Ready: 5, Keep: 5}, func(t *testing.T, p *upstream.CatPool) {
		time.Sleep(time.Hour)
		if got := p.Stats(); got.Ready != 3 || got.Bytes != 15<<20 || s.count() != 4 {
			t.Errorf("%+v after %d fetches, one of which had no room", got, s.count())
		}
		names(t, p, 1)
		if got := p.Stats(); got.Ready != 2 || got.Kept != 1 || got.Bytes != 15<<20 {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Hour)
		if got := p.Stats(); got.Ready != 3 || got.Kept != 0 || got.Bytes != 15<<20 {
			t.Errorf("%+v: what was given makes room for what will be", got)
		}
	})
}

func TestAPictureLargerThanThePoolIsServedAndNotKept(t *testing.T) {
	s := &source{size: 17 << 20}
	pooled(t, s, upstream.CatPoolOptions{Ready: 2, Keep: 2}, func(t *testing.T, p *upstream.CatPool) {
		if got := names(t, p, 2); got != "bc" {
			t.Errorf("%q", got)
		}
		if got := p.Stats(); got != (upstream.CatPoolStats{Direct: 2}) || s.count() != 3 {
			t.Errorf("%+v after %d fetches", got, s.count())
		}
	})
}

func TestRefillsThatFailPause(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want int // fetches in ten minutes
	}{
		"down":                 {errDown, 15}, // after 1, 2, 4 ... 60 s and the second that each takes
		"told to wait an hour": {&upstream.NotNowError{Until: time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &source{err: tt.err}
			pooled(t, s, upstream.CatPoolOptions{Ready: 1}, func(t *testing.T, p *upstream.CatPool) {
				time.Sleep(10 * time.Minute)
				if s.count() != tt.want {
					t.Errorf("%d fetches, want %d", s.count(), tt.want)
				}
				s.fails(nil)
				time.Sleep(time.Hour)
				if got := p.Stats(); got.Ready != 1 {
					t.Errorf("%+v an hour later", got)
				}
			})
		})
	}
}

func TestAPoolIsSafeForMany(t *testing.T) {
	s := &source{}
	pooled(t, s, upstream.CatPoolOptions{Ready: 4, Keep: 4}, func(t *testing.T, p *upstream.CatPool) {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := p.Random(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Minute)
		if got := p.Stats(); got.Warm+got.Direct != 50 || got.Warm < 4 || got.Ready != 4 || got.Kept != 4 || got.Bytes != 8 {
			t.Errorf("%+v", got)
		}
	})
}

// A pool over the real client: while the API is down, and left alone, the bot
// goes on with what it has.
func TestABreakerThatIsOpenIsFilledInFor(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		pool := upstream.NewCatPool(p.cats().Random, upstream.CatPoolOptions{Keep: 2})
		if _, err := pool.Random(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.says(down)
		for range 2 * upstream.MaxFailures {
			if _, err := pool.Random(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if got := pool.Stats(); got.Again != 2*upstream.MaxFailures || p.asked.Load() != 1+upstream.MaxFailures {
			t.Errorf("%+v, asked %d times", got, p.asked.Load())
		}
	})
}
