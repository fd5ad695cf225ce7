package pool_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quartet/kit/pool"
)

// lengths answers with /N bytes; ?chunked and ?gzip do not announce them, and
// ?hang never ends.
func lengths(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
	q := r.URL.Query()
	var out io.Writer = w
	switch {
	case q.Has("gzip"):
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		out = z
	case q.Has("chunked"), q.Has("hang"):
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
	default:
		w.Header().Set("Content-Length", strconv.Itoa(n))
	}
	_, _ = io.CopyN(out, zeros{}, int64(n))
	if q.Has("hang") {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestACallEndsOnce(t *testing.T) {
	s := serve(t, lengths)
	closeIt := func(resp *http.Response, _ func()) { resp.Body.Close() }
	for name, tc := range map[string]struct {
		method, path string
		use          func(resp *http.Response, cancel func())
		bytes        int64
		is           error
		kept         bool // the connection lives on
	}{
		"read to the end": {path: "/5", bytes: 5, kept: true, use: func(resp *http.Response, _ func()) {
			_, _ = io.Copy(io.Discard, resp.Body)
		}},
		"read, closed, closed": {path: "/5", bytes: 5, kept: true, use: func(resp *http.Response, _ func()) {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			resp.Body.Close()
		}},
		"closed early, a small rest": {path: "/4000", bytes: 4000, kept: true, use: closeIt},
		"small unannounced rest":     {path: "/4000?chunked", bytes: 4000, kept: true, use: closeIt},
		"closed early, a large rest": {path: "/1000000", use: closeIt},
		"closed early, rest hangs":   {path: "/3?hang", bytes: 3, use: closeIt},
		"no body":                    {path: "/0", kept: true, use: func(*http.Response, func()) {}},
		"HEAD":                       {method: "HEAD", path: "/5", kept: true, use: func(*http.Response, func()) {}},
		"neither read nor closed": {path: "/5?hang", is: context.Canceled, use: func(_ *http.Response, cancel func()) {
			cancel()
		}},
		"cancelled while read": {path: "/5?hang", bytes: 5, is: context.Canceled, use: func(resp *http.Response, cancel func()) {
			_, _ = io.ReadFull(resp.Body, make([]byte, 5))
			time.AfterFunc(time.Millisecond, cancel)
			if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, context.Canceled) {
				t.Errorf("read: %v", err)
			}
			resp.Body.Close()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen calls
			c := client(t, pool.Options{Start: seen.start})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			resp, err := c.Do("test", request(t, tc.method, s.URL+tc.path, "").WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			tc.use(resp, cancel)
			eventually(t, "reported", func() bool { return len(seen.all()) > 0 })
			cancel()
			resp.Body.Close()
			got := seen.only(t)
			if got.Status != 200 || got.BytesIn != tc.bytes || !errors.Is(got.Err, tc.is) {
				t.Errorf("reported %+v", got)
			}
			if tc.kept {
				if st := c.Stats(); st.Open != 1 || st.Idle != 1 {
					t.Errorf("the connection is lost: %+v", st)
				}
				return
			}
			eventually(t, "connection closed", func() bool { return c.Stats().Open == 0 })
		})
	}
}

func TestTheTimeoutEndsAForgottenBody(t *testing.T) {
	s := serve(t, lengths)
	var seen calls
	c := client(t, pool.Options{Start: seen.start, Timeout: 300 * time.Millisecond})
	resp, err := c.Do("test", request(t, "GET", s.URL+"/5?hang", ""))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "reported", func() bool { return len(seen.all()) > 0 })
	if got := seen.only(t); !errors.Is(got.Err, context.DeadlineExceeded) || got.Status != 200 {
		t.Errorf("reported %+v", got)
	}
	resp.Body.Close()
	seen.only(t)
	eventually(t, "connection closed", func() bool { return c.Stats().Open == 0 })
}

func TestAnAnswerIsBounded(t *testing.T) {
	s := serve(t, lengths)
	for _, kind := range []string{"", "?chunked", "?gzip"} {
		for _, tc := range []struct {
			limit int64
			n     int
			large bool
		}{{100, 99, false}, {100, 100, false}, {100, 101, true}, {100, 1 << 20, true}, {-1, 1 << 20, false}} {
			t.Run(fmt.Sprintf("%d of %d%s", tc.n, tc.limit, kind), func(t *testing.T) {
				var seen calls
				c := client(t, pool.Options{Start: seen.start, MaxBody: tc.limit})
				got, err := text(c, request(t, "GET", fmt.Sprint(s.URL, "/", tc.n, kind), ""))
				if errors.Is(err, pool.ErrBodyTooLarge) != tc.large || (err != nil) != tc.large {
					t.Fatalf("error %v", err)
				}
				if tc.large && int64(len(got)) > tc.limit || !tc.large && len(got) != tc.n {
					t.Errorf("%d bytes", len(got))
				}
				if call := seen.only(t); call.BytesIn != int64(len(got)) || (call.Err != nil) != tc.large {
					t.Errorf("reported %+v", call)
				}
			})
		}
	}
}

// Calls that end in every way at once: each is reported once, and the count
// of busy connections returns to nothing.
func TestManyEndings(t *testing.T) {
	s := serve(t, lengths)
	var seen calls
	c := client(t, pool.Options{Start: seen.start, MaxConns: 8})
	paths := []string{"/10", "/100000?chunked", "/0", "/3?hang"}
	const n = 400
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%20)*5*time.Millisecond)
			defer cancel()
			resp, err := c.Do("test", request(t, "GET", s.URL+paths[i%len(paths)], "").WithContext(ctx))
			if err != nil {
				return
			}
			switch i % 3 {
			case 0:
				_, _ = io.Copy(io.Discard, resp.Body)
			case 1:
				go resp.Body.Close()
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			if i%5 != 0 {
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	eventually(t, "all reported", func() bool { return len(seen.all()) >= n })
	eventually(t, "none busy", func() bool { st := c.Stats(); return st.Open == st.Idle })
	c.CloseIdle()
	eventually(t, "all closed", func() bool { c.CloseIdle(); return c.Stats().Open == 0 })
	if got := len(seen.all()); got != n {
		t.Errorf("%d calls reported, want %d", got, n)
	}
}

func TestAReadAfterCloseFails(t *testing.T) {
	s := serve(t, lengths)
	c := client(t, pool.Options{MaxBody: 100})
	resp, err := c.Do("test", request(t, "GET", s.URL+"/4000?chunked", ""))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close() // reads a rest that is longer than MaxBody
	if n, err := resp.Body.Read(make([]byte, 10)); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestTheLargestMaxBodyLimitsNothing(t *testing.T) {
	s := serve(t, lengths)
	c := client(t, pool.Options{MaxBody: math.MaxInt64})
	if got := mustText(t, c, request(t, "GET", s.URL+"/4000?chunked", "")); len(got) != 4000 {
		t.Errorf("%d bytes", len(got))
	}
}
