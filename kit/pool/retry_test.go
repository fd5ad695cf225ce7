package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"quartet/kit/pool"
)

// A kept connection dies under a request: who sees it twice, and who does not.
func TestOnlyReadsAreSentAgain(t *testing.T) {
	keyed := func(req *http.Request) *http.Request {
		req.Header.Set("Idempotency-Key", "k")
		req.Header.Set("X-Idempotency-Key", "k")
		return req
	}
	asRead := func(req *http.Request) *http.Request { return req.WithContext(pool.AsRead(req.Context())) }
	inChunks := func(req *http.Request) *http.Request {
		req.ContentLength, req.GetBody = -1, nil
		return req
	}
	noRewind := func(req *http.Request) *http.Request { req.GetBody = nil; return asRead(req) }
	for _, tc := range []struct {
		name, method, body string
		mark               func(*http.Request) *http.Request
		again              bool
	}{
		{name: "GET", method: "GET", again: true},
		{name: "GET by default", method: "", again: true},
		{name: "GET with a body", method: "GET", body: "id", again: true},
		{name: "HEAD", method: "HEAD", again: true},
		{name: "OPTIONS", method: "OPTIONS", again: true},
		{name: "marked POST", method: "POST", body: "id", mark: asRead, again: true},
		{name: "marked POST without a body", method: "POST", mark: asRead, again: true},
		{name: "marked POST without GetBody", method: "POST", body: "id", mark: noRewind},
		{name: "GET with a key", method: "GET", mark: keyed, again: true},
		{name: "POST", method: "POST", body: "id"},
		{name: "POST without a body", method: "POST"},
		{name: "POST with a key", method: "POST", body: "id", mark: keyed},
		{name: "POST with a key, without a body", method: "POST", mark: keyed},
		{name: "POST in chunks", method: "POST", body: "id", mark: inChunks},
		{name: "PUT", method: "PUT", body: "id"},
		{name: "PATCH", method: "PATCH", body: "id"},
		{name: "DELETE", method: "DELETE"},
		{name: "DELETE with a key", method: "DELETE", mark: keyed},
	} {
		for _, end := range []act{hangUp, reset} {
			t.Run(fmt.Sprintf("%s/%d", tc.name, end), func(t *testing.T) {
				s := lie(t, func(conn, nth int) act {
					if conn == 0 && nth == 1 {
						return end
					}
					return answer
				})
				var seen calls
				c := client(t, pool.Options{Start: seen.start})
				mustText(t, c, request(t, "GET", s.url+"/first", ""))
				req := request(t, tc.method, s.url+"/id", tc.body)
				if tc.mark != nil {
					req = tc.mark(req)
				}
				id := "/id"
				if tc.body != "" {
					id = tc.body
				}

				_, err := text(c, req)
				want := 1
				if tc.again {
					want = 2
				}
				if got := s.times(id); got != want {
					t.Errorf("received %d times, want %d", got, want)
				}
				if (err == nil) != tc.again || errors.Is(err, pool.ErrUnsent) {
					t.Errorf("error %v", err)
				}
				got := seen.all()[1]
				if got.Retried != tc.again || got.Reused == tc.again || (got.Connect > 0) != tc.again {
					t.Errorf("reported %+v", got)
				}
				if st := c.Stats(); (st.Retries == 1) != tc.again {
					t.Errorf("stats %+v", st)
				}
				if req.Body != nil && req.GetBody == nil && tc.mark == nil {
					t.Error("the caller's request was changed")
				}
			})
		}
	}
}

func TestARetryIsTheLast(t *testing.T) {
	s := lie(t, func(_, nth int) act {
		if nth == 0 {
			return answer
		}
		return hangUp
	})
	// Several dead connections: net/http alone would try them one by one.
	c := client(t, pool.Options{})
	warm(t, c, s, 4)
	if body := mustText(t, c, request(t, "GET", s.url+"/id", "")); body != "hello" || s.times("/id") != 2 {
		t.Errorf("%q, received %d times", body, s.times("/id"))
	}

	dead := lie(t, func(conn, nth int) act {
		if conn < 4 && nth == 0 {
			return answer
		}
		return hangUp
	})
	c = client(t, pool.Options{})
	warm(t, c, dead, 4)
	_, err := text(c, request(t, "GET", dead.url+"/id", ""))
	if err == nil || errors.Is(err, pool.ErrUnsent) || dead.times("/id") != 2 {
		t.Errorf("error %v, received %d times", err, dead.times("/id"))
	}
}

// warm leaves n idle connections to s.
func warm(t *testing.T, c *pool.Client, s *liar, n int) {
	t.Helper()
	var open []*http.Response
	for range n {
		resp, err := c.Do("test", request(t, "GET", s.url+"/warm", ""))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, resp) // held, so that the next call needs its own
	}
	for _, resp := range open {
		resp.Body.Close()
	}
	if st := c.Stats(); st.Idle != int64(n) {
		t.Fatalf("stats %+v, want %d idle", st, n)
	}
}

// While a retry dials, another call ends and its connection is offered to the
// retry. It is no fresh one, so nothing is sent on it.
func TestARetryTakesNoUsedConnection(t *testing.T) {
	s := lie(t, func(conn, nth int) act {
		if nth == 0 {
			return answer
		}
		return hangUp
	})
	var other *http.Response
	var dials atomic.Int64
	c := client(t, pool.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) == 3 {
			_, _ = io.Copy(io.Discard, other.Body)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}})
	first, err := c.Do("test", request(t, "GET", s.url+"/first", ""))
	if err != nil {
		t.Fatal(err)
	}
	if other, err = c.Do("test", request(t, "GET", s.url+"/other", "")); err != nil {
		t.Fatal(err)
	}
	defer other.Body.Close()
	first.Body.Close() // now the first connection is idle, the other busy

	if got := mustText(t, c, request(t, "GET", s.url+"/id", "")); got != "hello" || s.times("/id") != 2 {
		t.Errorf("%q, received %d times", got, s.times("/id"))
	}
	if st := c.Stats(); st.Retries != 1 || dials.Load() < 3 {
		t.Errorf("stats %+v, %d dials", st, dials.Load())
	}
}

func TestWhatIsNotRetried(t *testing.T) {
	for _, tc := range []struct {
		name string
		nth  int // the request of the first connection that meets end
		end  act
	}{
		{"a new connection", 0, hangUp},
		{"an answer begun", 1, halfHeader},
		{"a body begun", 1, halfBody},
	} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(tc.name+"/"+method, func(t *testing.T) {
				s := lie(t, func(_, nth int) act {
					if nth == tc.nth {
						return tc.end
					}
					return answer
				})
				c := client(t, pool.Options{})
				for range tc.nth {
					mustText(t, c, request(t, "GET", s.url+"/before", ""))
				}
				_, err := text(c, request(t, method, s.url+"/id", ""))
				if err == nil || errors.Is(err, pool.ErrUnsent) || s.times("/id") != 1 {
					t.Errorf("error %v, received %d times", err, s.times("/id"))
				}
			})
		}
	}
}

func TestAConnectionClosedWhileIdleIsReplaced(t *testing.T) {
	s := lie(t, func(int, int) act { return answerBye })
	c := client(t, pool.Options{})
	for range 5 {
		mustText(t, c, request(t, "POST", s.url+"/id", ""))
		eventually(t, "the close was seen", func() bool { return c.Stats().Open == 0 })
	}
	if st := c.Stats(); st.Dials != 5 || s.times("/id") != 5 {
		t.Errorf("stats %+v, received %d times", st, s.times("/id"))
	}
}

// Many writes and reads race with a server that closes as it likes: no write is
// received twice, none that is called unsent is received, and all that
// were answered were received.
func TestNoWriteIsDoubledInAStorm(t *testing.T) {
	s := lie(t, func(conn, nth int) act {
		return []act{answer, answer, answerBye, hangUp, reset, halfHeader, halfBody}[(3*conn+nth)%7]
	})
	c := client(t, pool.Options{MaxConns: 8})
	const callers, each = 8, 60
	var answered, unsent, unknown int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("write-%d-%d", caller, i)
				req := request(t, "POST", s.url+"/write", id)
				req.Header.Set("Idempotency-Key", id)
				_, err := text(c, req)
				mu.Lock()
				got := s.times(id)
				switch {
				case err == nil:
					answered++
					if got != 1 {
						t.Errorf("%s was answered and received %d times", id, got)
					}
				case errors.Is(err, pool.ErrUnsent):
					unsent++
				default:
					unknown++
				}
				mu.Unlock()

				read := fmt.Sprintf("/read-%d-%d", caller, i)
				_, _ = text(c, request(t, "GET", s.url+read, ""))
				if got := s.times(read); got > 2 {
					t.Errorf("%s was received %d times", read, got)
				}
				if errors.Is(err, pool.ErrUnsent) && s.times(id) != 0 {
					t.Errorf("%s was received: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	if answered == 0 || unknown == 0 {
		t.Errorf("%d answered, %d unsent, %d unknown: no storm", answered, unsent, unknown)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, n := range s.received {
		if strings.HasPrefix(id, "write") && n > 1 {
			t.Errorf("%s was received %d times", id, n)
		}
	}
	t.Logf("%d answered, %d unsent, %d unknown, %+v", answered, unsent, unknown, c.Stats())
}
