package upstream_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quartet/services/botd/internal/upstream"
)

// trip makes an API fail until it is left alone.
func trip(t *testing.T, p *party, ask func(context.Context) error) {
	t.Helper()
	p.says(down)
	for i := range upstream.MaxFailures {
		if err := ask(t.Context()); err == nil || errors.Is(err, upstream.ErrNotNow) {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	if err := ask(t.Context()); !errors.Is(err, upstream.ErrNotNow) || p.asked.Load() != upstream.MaxFailures {
		t.Fatalf("asked %d times, then %v", p.asked.Load(), err)
	}
}

func TestAnAPIThatIsDownIsLeftAloneForAWhile(t *testing.T) {
	for _, name := range []string{"thecatapi", "commons"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, p *party) {
				ask := p.asks()[name]
				trip(t, p, ask)
				time.Sleep(upstream.Outage - 1)
				if err := ask(t.Context()); !errors.Is(err, upstream.ErrNotNow) {
					t.Errorf("too early: %v", err)
				}
				time.Sleep(time.Nanosecond)
				if err := ask(t.Context()); err == nil || errors.Is(err, upstream.ErrNotNow) {
					t.Errorf("the one that tries: %v", err)
				}
				if err := ask(t.Context()); !errors.Is(err, upstream.ErrNotNow) {
					t.Errorf("after the trial failed: %v", err)
				}
				time.Sleep(upstream.Outage)
				p.says(well)
				for range 2 {
					if err := ask(t.Context()); err != nil {
						t.Errorf("it is well again: %v", err)
					}
				}
			})
		})
	}
}

func TestOneRequestTriesAnAPIThatWasDown(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		ask := p.asks()["thecatapi"]
		trip(t, p, ask)
		time.Sleep(upstream.Outage)
		p.says(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			well(w, r)
		})
		p.asked.Store(0)
		var good atomic.Int64
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if ask(t.Context()) == nil {
					good.Add(1)
				}
			})
		}
		wg.Wait()
		if good.Load() != 1 || p.asked.Load() != 1 {
			t.Errorf("%d good of %d that asked", good.Load(), p.asked.Load())
		}
	})
}

func TestATrialThatWasAbandonedIsTakenOver(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		ask := p.asks()["thecatapi"]
		trip(t, p, ask)
		time.Sleep(upstream.Outage)
		p.says(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := ask(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		p.says(well)
		if err := ask(t.Context()); err != nil {
			t.Errorf("the next: %v", err)
		}
	})
}

// What is no failure of an API does not shut it off, however often it happens.
func TestOnlyFailuresCount(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"nothing found":  late(200, "", `{"batchcomplete":true}`),
		"a refusal":      late(200, "", `{"error":{"code":"badvalue","info":"x"}}`),
		"a caller gone":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"well, all told": well,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, p *party) {
				p.says(answer)
				ask := p.asks()["commons"]
				for range 2 * upstream.MaxFailures {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, cancel)
					if err := ask(ctx); errors.Is(err, upstream.ErrNotNow) {
						t.Error(err)
					}
					cancel()
				}
			})
		})
	}
}

func TestAnAnswerAmongFailuresStartsTheCountAnew(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		ask := p.asks()["thecatapi"]
		for range 3 {
			p.says(down)
			for range upstream.MaxFailures - 1 {
				if err := ask(t.Context()); errors.Is(err, upstream.ErrNotNow) {
					t.Error(err)
				}
			}
			p.says(well)
			if err := ask(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
