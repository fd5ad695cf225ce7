package pool_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"quartet/kit/pool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// calls collects what a client reports.
type calls struct {
	mu   sync.Mutex
	list []pool.Call
}

func (c *calls) start(ctx context.Context, _ string) (context.Context, func(pool.Call)) {
	return ctx, func(got pool.Call) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = append(c.list, got)
	}
}

func (c *calls) all() []pool.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]pool.Call(nil), c.list...)
}

// only is the one call reported so far.
func (c *calls) only(t *testing.T) pool.Call {
	t.Helper()
	got := c.all()
	if len(got) != 1 {
		t.Fatalf("%d calls reported, want 1: %+v", len(got), got)
	}
	return got[0]
}

// nobody listens there, and the kernel gives this port to no server of a test.
const nobody = "http://127.0.0.1:1"

// client makes a client that leaves nothing behind.
func client(t *testing.T, o pool.Options) *pool.Client {
	t.Helper()
	c := pool.New("peer", o)
	t.Cleanup(c.CloseIdle)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// text does req and reads its answer to the end.
func text(c *pool.Client, req *http.Request) (string, error) {
	resp, err := c.Do("test", req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func mustText(t *testing.T, c *pool.Client, req *http.Request) string {
	t.Helper()
	s, err := text(c, req)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eventually waits for what other goroutines are about to do.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
