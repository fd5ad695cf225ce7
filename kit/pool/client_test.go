package pool_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"quartet/kit/pool"
)

// hang answers never. Only after the request's body does a server notice that its
// client is gone.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestOnlyANewConnectionCostsAHandshake(t *testing.T) {
	var handshakes atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS != nil)
	}))
	s.TLS = &tls.Config{VerifyConnection: func(tls.ConnectionState) error { handshakes.Add(1); return nil }}
	s.StartTLS()
	t.Cleanup(s.Close)
	var seen calls
	c := client(t, pool.Options{Start: seen.start, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig})

	const n = 10
	for range n {
		resp, err := c.Do("test", request(t, "GET", s.URL, ""))
		if err != nil {
			t.Fatal(err)
		}
		if resp.TLS == nil || !resp.TLS.HandshakeComplete {
			t.Error("the answer does not tell of TLS")
		}
		if b, err := io.ReadAll(resp.Body); string(b) != "true" || err != nil {
			t.Errorf("answer %q, %v", b, err)
		}
		resp.Body.Close()
	}
	if got := handshakes.Load(); got != 1 {
		t.Errorf("%d handshakes for %d calls", got, n)
	}
	for i, got := range seen.all() {
		isNew := i == 0
		if got.Reused == isNew || (got.TLS > 0) != isNew || (got.Connect > 0) != isNew {
			t.Errorf("call %d: reused %v, connect %v, tls %v", i, got.Reused, got.Connect, got.TLS)
		}
		if got.DNS != 0 {
			t.Errorf("call %d: DNS %v for an address", i, got.DNS)
		}
		if got.FirstByte <= 0 || got.Body <= 0 {
			t.Errorf("call %d: first byte %v, body %v", i, got.FirstByte, got.Body)
		}
		if parts := got.Connect + got.TLS + got.FirstByte + got.Body; got.Total < parts {
			t.Errorf("call %d: total %v is less than its parts %v", i, got.Total, parts)
		}
	}
	st := c.Stats()
	c.CloseIdle()
	resp, err := c.Do("test", request(t, "GET", s.URL, ""))
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); !resp.TLS.DidResume {
		t.Error("the next handshake does not resume the session")
	}
	if st.Name != "peer" || st.Dials != 1 || st.Reuses != n-1 || st.Open != 1 || st.Idle != 1 {
		t.Errorf("stats %+v", st)
	}
}

func TestANameCostsDNS(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	var seen calls
	c := client(t, pool.Options{Start: seen.start})
	mustText(t, c, request(t, "GET", strings.Replace(s.URL, "127.0.0.1", "localhost", 1), ""))
	if got := seen.only(t); got.DNS <= 0 || got.Connect <= 0 {
		t.Errorf("DNS %v, connect %v", got.DNS, got.Connect)
	}
}

func TestABurstKeepsItsConnections(t *testing.T) {
	const callers = 16
	var together sync.WaitGroup
	s := serve(t, func(http.ResponseWriter, *http.Request) {
		together.Done()
		together.Wait() // all calls are under way at the same time
	})
	c := client(t, pool.Options{MaxConns: callers})
	for range 5 {
		together.Add(callers)
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				if _, err := text(c, request(t, "GET", s.URL, "")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if st := c.Stats(); st.Dials != callers || st.Idle != callers {
		t.Errorf("stats %+v, want %d dials, all idle", st, callers)
	}
	c.CloseIdle()
	eventually(t, "all closed", func() bool { return c.Stats().Open == 0 })
}

func TestMaxConnsMakesCallsWait(t *testing.T) {
	var now, most atomic.Int64
	s := serve(t, func(http.ResponseWriter, *http.Request) {
		for n := now.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		now.Add(-1)
	})
	c := client(t, pool.Options{MaxConns: 2})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := text(c, request(t, "GET", s.URL, "")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() > 2 || c.Stats().Open > 2 {
		t.Errorf("%d calls at once, %+v", most.Load(), c.Stats())
	}
}

func TestErrUnsentTellsWhatThePeerCannotHave(t *testing.T) {
	hang := serve(t, hang)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	errForbidden, errBored := errors.New("forbidden"), errors.New("bored")
	bored := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(300*time.Millisecond, func() { cancel(errBored) }) // it has long been sent
		return ctx
	}
	for name, tc := range map[string]struct {
		o      pool.Options
		url    string
		ctx    func(context.Context) context.Context
		unsent bool
		is     error
		too    error // also this
	}{
		"refused":         {url: nobody, unsent: true, is: syscall.ECONNREFUSED},
		"forbidden":       {o: pool.Options{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errForbidden }}, url: hang.URL, unsent: true, is: errForbidden},
		"refused, TLS":    {url: strings.Replace(nobody, "http:", "https:", 1), unsent: true, is: syscall.ECONNREFUSED},
		"no tls":          {url: strings.Replace(plain.URL, "http:", "https:", 1), unsent: true},
		"no answer":       {o: pool.Options{HeaderTimeout: 30 * time.Millisecond}, url: hang.URL, is: context.DeadlineExceeded},
		"call too long":   {o: pool.Options{Timeout: 300 * time.Millisecond}, url: hang.URL, is: context.DeadlineExceeded},
		"caller gives up": {url: hang.URL, ctx: bored, is: errBored, too: context.Canceled},
		"given up before": {url: hang.URL, ctx: func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(errBored)
			return ctx
		}, unsent: true, is: errBored, too: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			var seen calls
			tc.o.Start = seen.start
			c := client(t, tc.o)
			req := request(t, "POST", tc.url+"/?key=secret", "x")
			if tc.ctx != nil {
				req = req.WithContext(tc.ctx(req.Context()))
			}
			_, err := text(c, req)
			if err == nil || errors.Is(err, pool.ErrUnsent) != tc.unsent {
				t.Errorf("error %v, want unsent: %v", err, tc.unsent)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("error %v is not %v", err, tc.is)
			}
			if tc.too != nil && !errors.Is(err, tc.too) {
				t.Errorf("error %v is not %v", err, tc.too)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || !strings.HasPrefix(err.Error(), "peer: test: ")) {
				t.Errorf("error %q", err)
			}
			if got := seen.only(t); got.Err != err || got.Status != 0 {
				t.Errorf("reported %+v", got)
			}
		})
	}
}

func TestAnErrorWhileWaitingForAConnectionIsUnsent(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	c := client(t, pool.Options{MaxConns: 1})
	first := make(chan error, 1)
	go func() { _, err := text(c, request(t, "POST", s.URL, "")); first <- err }()
	eventually(t, "the only connection is busy", func() bool { st := c.Stats(); return st.Open == 1 && st.Idle == 0 })

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := text(c, request(t, "POST", s.URL, "").WithContext(ctx))
	if !errors.Is(err, pool.ErrUnsent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestAHandshakeIsBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the kernel accepts, nobody answers
	c := client(t, pool.Options{TLSTimeout: 30 * time.Millisecond})
	_, err = text(c, request(t, "POST", "https://"+l.Addr().String(), "x"))
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, pool.ErrUnsent) {
		t.Errorf("error %v", err)
	}
}

func TestStartGivesTheContext(t *testing.T) {
	s := serve(t, hang)
	errOver := errors.New("over")
	var operation string
	c := client(t, pool.Options{Start: func(ctx context.Context, op string) (context.Context, func(pool.Call)) {
		operation = op
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(errOver)
		return ctx, func(pool.Call) {}
	}})
	if _, err := text(c, request(t, "GET", s.URL, "")); !errors.Is(err, errOver) || operation != "test" {
		t.Errorf("operation %q, error %v", operation, err)
	}
}

func TestRedirects(t *testing.T) {
	var arrived atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/end":
			arrived.Add(1)
			fmt.Fprint(w, "end")
		case "/nowhere":
			http.Redirect(w, r, nobody, http.StatusFound)
		case "/twice":
			http.Redirect(w, r, "/once", http.StatusFound)
		default:
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		}
	})
	errNoWay := errors.New("no way")
	refuse := func(*http.Request, []*http.Request) error { return errNoWay }
	for name, tc := range map[string]struct {
		o            pool.Options
		method, path string
		status       int
		is           error
		arrivals     int64
	}{
		"none followed":        {method: "GET", path: "/once", status: 307},
		"one":                  {o: pool.Options{MaxRedirects: 1}, method: "GET", path: "/once", status: 200, arrivals: 1},
		"two":                  {o: pool.Options{MaxRedirects: 2}, method: "GET", path: "/twice", status: 200, arrivals: 1},
		"one too many":         {o: pool.Options{MaxRedirects: 1}, method: "GET", path: "/twice"},
		"to nobody":            {o: pool.Options{MaxRedirects: 1}, method: "GET", path: "/nowhere", is: syscall.ECONNREFUSED},
		"refused":              {o: pool.Options{MaxRedirects: 1, CheckRedirect: refuse}, method: "GET", path: "/once", is: errNoWay},
		"write is not resent":  {o: pool.Options{MaxRedirects: 3}, method: "POST", path: "/once", status: 307},
		"write becomes no GET": {o: pool.Options{MaxRedirects: 3}, method: "POST", path: "/twice", status: 302},
	} {
		t.Run(name, func(t *testing.T) {
			arrived.Store(0)
			var seen calls
			tc.o.Start = seen.start
			c := client(t, tc.o)
			body := ""
			if tc.method == "POST" {
				body = "x"
			}
			_, err := text(c, request(t, tc.method, s.URL+tc.path, body))
			got := seen.only(t)
			if got.Status != tc.status || (err == nil) != (tc.status != 0) || arrived.Load() != tc.arrivals {
				t.Errorf("status %d, error %v, %d arrivals", got.Status, err, arrived.Load())
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("error %v is not %v", err, tc.is)
			}
			if errors.Is(err, pool.ErrUnsent) {
				t.Error("a redirected call was sent")
			}
			if err != nil && strings.Contains(err.Error(), "http:") {
				t.Errorf("an address in the error: %v", err)
			}
			if st := c.Stats(); st.Dials != 1 || st.Idle != 1 {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

func TestARequestNeedNotComeFromNewRequest(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "/", http.StatusFound)
		}
		fmt.Fprint(w, r.Method, " ", user, password)
	})
	c := client(t, pool.Options{Timeout: -1})
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if got := mustText(t, c, &http.Request{URL: u}); got != "GET " {
		t.Errorf("bare request: %q", got)
	}
	if got := mustText(t, c, request(t, "PUT", "http://me:too@"+u.Host, "")); got != "PUT metoo" {
		t.Errorf("user in the URL: %q", got)
	}
	resp, err := c.Do("test", request(t, "PUT", "http://me:too@"+u.Host+"/redirect", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusFound {
		t.Errorf("a redirected write with a user: status %d", resp.StatusCode)
	}
	for name, bad := range map[string]*http.Request{
		"no URL":    {},
		"no scheme": {URL: &url.URL{Host: u.Host}},
		"no host":   {URL: &url.URL{Scheme: "http"}},
	} {
		if _, err := text(c, bad); !errors.Is(err, pool.ErrUnsent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
