package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/upstream"
)

const lag = `{"error":{"code":"maxlag","info":"Waiting for db1","lag":7}}`

func TestAWaitThatFitsIsSatOutAndAskedOnceMore(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		api    string
		took   time.Duration
	}{
		"429":                      {late(429, "3", ""), "thecatapi", 3 * time.Second},
		"429 of Commons":           {late(429, "3", ""), "commons", 3 * time.Second},
		"429 without a time":       {late(429, "", ""), "commons", 5 * time.Second},
		"429 at once":              {late(429, "0", ""), "thecatapi", time.Second},
		"503 with a time":          {late(503, "2", ""), "commons", 2 * time.Second},
		"lag":                      {late(200, "7", lag), "commons", 7 * time.Second},
		"lag with too little time": {late(200, "1", lag), "commons", 5 * time.Second},
		"a limit without a header": {late(200, "", `{"error":{"code":"ratelimited"}}`), "commons", 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, p *party) {
				p.once(tt.answer)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				if err := p.asks()[tt.api](ctx); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != tt.took || p.asked.Load() != 2 {
					t.Errorf("asked %d times in %v, want 2 in %v", p.asked.Load(), took, tt.took)
				}
			})
		})
	}
}

func TestAWaitThatDoesNotFitEndsTheRequestAtOnce(t *testing.T) {
	for name, wait := range map[string]string{"longer than the request may last": "9", "longer than anybody waits": "60"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, p *party) {
				p.once(late(429, wait, ""))
				limit := 9 * time.Second
				if wait == "60" {
					limit = time.Hour
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				began := time.Now()
				if err := p.asks()["commons"](ctx); err == nil || !strings.Contains(err.Error(), "429, to be asked again in") || time.Since(began) != 0 {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

func TestUntilToldNobodyAsksAndTheErrorSaysUntilWhen(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		for name, ask := range p.asks() {
			p.asked.Store(0)
			p.once(late(429, "60", ""))
			until := time.Now().Add(time.Minute)
			if ask(t.Context()) == nil {
				t.Fatalf("%s: no error", name)
			}
			time.Sleep(59 * time.Second)
			err := ask(t.Context())
			told, ok := errors.AsType[*upstream.NotNowError](err)
			if !ok || !errors.Is(err, upstream.ErrNotNow) || !told.Until.Equal(until) || !strings.Contains(err.Error(), until.UTC().Format(time.RFC3339)) {
				t.Errorf("%s: %v, want one until %v", name, err, until)
			}
			if p.asked.Load() != 1 {
				t.Errorf("%s: asked %d times", name, p.asked.Load())
			}
			time.Sleep(time.Second)
			if err := ask(t.Context()); err != nil {
				t.Errorf("%s: afterwards: %v", name, err)
			}
		}
	})
}

func TestNoRequestAsksAThirdTime(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		p.says(late(429, "1", ""))
		if err := p.asks()["commons"](t.Context()); err == nil || p.asked.Load() != 2 {
			t.Errorf("asked %d times: %v", p.asked.Load(), err)
		}
	})
}

func TestOneOfManyWaitsTheOthersFailAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		p.says(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second) // all are on their way
			p.says(well)
			late(429, "5", "")(w, r)
		})
		cats := p.asks()["thecatapi"]
		var good, bad atomic.Int64
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if cats(t.Context()) == nil {
					good.Add(1)
				} else if bad.Add(1); time.Now().Nanosecond() != 0 {
					t.Error("not at once")
				}
			})
		}
		wg.Wait()
		if good.Load() != 1 || bad.Load() != 9 || p.asked.Load() != 11 {
			t.Errorf("%d good, %d bad, %d asked", good.Load(), bad.Load(), p.asked.Load())
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		p.says(late(429, "5", ""))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if err := p.asks()["commons"](ctx); err == nil || time.Since(began) != time.Second || p.asked.Load() != 1 {
			t.Errorf("after %v, asked %d times: %v", time.Since(began), p.asked.Load(), err)
		}
	})
}

func TestCommonsIsAskedInSeries(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		p.says(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			well(w, r)
		})
		commons := p.asks()["commons"]
		began := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := commons(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if p.most.Load() != 1 || time.Since(began) != 5*time.Second {
			t.Errorf("%d at a time, in %v", p.most.Load(), time.Since(began))
		}
	})
}

func TestWaitingInTheSeriesEndsWithTheContext(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		p.says(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(5 * time.Second)
			well(w, r)
		})
		commons := p.asks()["commons"]
		var wg sync.WaitGroup
		wg.Go(func() { _ = commons(t.Context()) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := commons(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "request before") {
			t.Errorf("error %v", err)
		}
		wg.Wait()
		if p.asked.Load() != 1 {
			t.Errorf("asked %d times", p.asked.Load())
		}
	})
}

func TestAHostOfPicturesThatWantsNoRequestGetsNone(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		pictures := p.pictures()
		get := func(host string) error {
			_, err := pictures.Get(t.Context(), "http://"+host+"/thumb/cat.png")
			return err
		}
		busy := late(429, "60", "")
		p.file.Store(&busy)
		if err := get("a.example"); err == nil || !strings.Contains(err.Error(), "429") {
			t.Errorf("error %v", err)
		}
		p.file.Store(nil)
		if err := get("a.example"); !errors.Is(err, upstream.ErrNotNow) || p.fetched.Load() != 1 {
			t.Errorf("asked %d times: %v", p.fetched.Load(), err)
		}
		if err := get("b.example"); err != nil {
			t.Errorf("another host: %v", err)
		}
		time.Sleep(time.Minute)
		if err := get("a.example"); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestRetryAfterIsReadAndBounded(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0": time.Second, "": 5 * time.Second, "soon": 5 * time.Second, "-3": 5 * time.Second, "1.5": 5 * time.Second,
		"99999999": time.Hour, "99999999999999999999": 5 * time.Second,
		"Fri, 01 May 2026 12:00:30 GMT": 30 * time.Second, "Fri, 01 May 2020 12:00:30 GMT": time.Second, "Fri, 01 May 2099 12:00:30 GMT": time.Hour,
	} {
		if got := upstream.RetryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestWhatFailsIsAskedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		for name, answer := range map[string]http.HandlerFunc{"down": down, "no JSON": late(200, "", "<html>"), "cut short": announces(100, "["), "elsewhere": redirect("http://upload.example/")} {
			p.says(answer)
			for api, ask := range p.asks() {
				p.asked.Store(0)
				if err := ask(t.Context()); err == nil || p.asked.Load() != 1 {
					t.Errorf("%s of %s: asked %d times: %v", name, api, p.asked.Load(), err)
				}
			}
		}
		p.says(well)
		for _, answer := range []http.HandlerFunc{down, late(429, "1", ""), late(404, "", "")} {
			p.file.Store(&answer)
			p.fetched.Store(0)
			if _, err := p.cats().Random(t.Context()); err == nil || p.fetched.Load() != 1 {
				t.Errorf("a picture was fetched %d times: %v", p.fetched.Load(), err)
			}
		}
	})
}

func TestAnswersOfAPIsAreBoundedInBytesAndTime(t *testing.T) {
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, "[")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Second)
		}
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		took   time.Duration
		says   string
	}{
		"endless":        {endless, 0, "more than"},
		"a bomb of gzip": {bomb, 0, "more than"},
		"a drip":         {drip, 7 * time.Second, "deadline"},
		"never":          {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 7 * time.Second, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, p *party) {
				p.says(tt.answer)
				for api, ask := range p.asks() {
					ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
					began := time.Now()
					if err := ask(ctx); err == nil || !strings.Contains(err.Error(), tt.says) || time.Since(began) != tt.took {
						t.Errorf("%s: after %v: %v", api, time.Since(began), err)
					}
					cancel()
				}
				time.Sleep(2 * time.Second) // the drips end
			})
		})
	}
}

func TestAHostOfPicturesThatIsDownIsLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		pictures := p.pictures()
		get := func(host string) error {
			_, err := pictures.Get(t.Context(), "http://"+host+"/thumb/cat.png")
			return err
		}
		broken := http.HandlerFunc(down)
		p.file.Store(&broken)
		for range upstream.MaxFailures {
			if err := get("a.example"); err == nil || errors.Is(err, upstream.ErrNotNow) {
				t.Fatalf("error %v", err)
			}
		}
		p.file.Store(nil)
		if err := get("a.example"); !errors.Is(err, upstream.ErrNotNow) || p.fetched.Load() != upstream.MaxFailures {
			t.Errorf("asked %d times: %v", p.fetched.Load(), err)
		}
		if err := get("b.example"); err != nil {
			t.Errorf("another host: %v", err)
		}
		time.Sleep(upstream.Outage)
		if err := get("a.example"); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
