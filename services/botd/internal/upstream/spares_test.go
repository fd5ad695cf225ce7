package upstream_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"quartet/services/botd/internal/upstream"
)

// finds answers a search with n addresses, and some that are none.
func finds(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		list := []string{`{"url":""}`, `{}`, `{"url":"http://upload.example/` + strings.Repeat("x", 3000) + `"}`}
		for i := range n {
			list = append(list, fmt.Sprintf(`{"url":"http://upload.example/thumb/%d.png"}`, i))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(list, ","))
	}
}

func TestOneSearchServesTen(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		seen := make(map[string]int)
		file := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen[r.URL.Path]++
			fmt.Fprint(w, png)
		})
		p.file.Store(&file)
		p.says(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("limit") != "10" {
				t.Errorf("asked %s", r.URL)
			}
			finds(10)(w, r)
		})
		cats := p.cats()
		for range 20 {
			if _, err := cats.Random(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if p.asked.Load() != 2 || len(seen) != 10 || seen["/thumb/0.png"] != 2 {
			t.Errorf("%d searches for %v", p.asked.Load(), seen)
		}
	})
}

func TestAddressesAreNotKeptForLong(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		p.says(finds(10))
		cats := p.cats()
		for want, wait := range []time.Duration{0, time.Hour, time.Hour + 1} {
			time.Sleep(wait)
			if _, err := cats.Random(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := p.asked.Load(); got != max(1, int64(want)) {
				t.Errorf("%d searches after %v", got, wait)
			}
		}
	})
}

func TestAddressesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		p.says(finds(1000))
		cats := p.cats()
		var wg sync.WaitGroup
		for range 3 { // each searches
			wg.Go(func() { _, _ = cats.Random(t.Context()) })
		}
		wg.Wait()
		before := p.asked.Load()
		for range upstream.MaxSpares {
			_, _ = cats.Random(t.Context())
		}
		if p.asked.Load() != before {
			t.Errorf("fewer than %d were kept", upstream.MaxSpares)
		}
		if _, _ = cats.Random(t.Context()); p.asked.Load() != before+1 {
			t.Errorf("more than %d were kept", upstream.MaxSpares)
		}
	})
}

func TestAddressesServeWhileTheAPIIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		p.says(finds(3))
		cats := p.cats()
		for i := range 4 {
			if _, err := cats.Random(t.Context()); (err == nil) != (i < 3) {
				t.Errorf("picture %d: %v", i, err)
			}
			p.says(down)
		}
		p.says(finds(0))
		if _, err := cats.Random(t.Context()); !errors.Is(err, upstream.ErrNoPicture) {
			t.Errorf("error %v", err)
		}
	})
}
