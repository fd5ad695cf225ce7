package signalapi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/signalapi"
)

// pipes is a listener whose connections are pipes, so that time can be imitated.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// piped serves handler and returns a client of number for it. It may be used
// where the clock is imitated.
func piped(t *testing.T, number string, handler http.HandlerFunc) *signalapi.Client {
	t.Helper()
	l := &pipes{make(chan net.Conn), make(chan struct{})}
	server := http.Server{Handler: handler}
	go server.Serve(l)
	calls := pool.New("signal", pool.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		l.conns <- theirs
		return ours, nil
	}})
	t.Cleanup(func() {
		calls.CloseIdle()
		server.Close()
	})
	return signalapi.New(signalapi.Options{URL: &url.URL{Scheme: "http", Host: "signal:8080"}, Number: number}, calls)
}

// linking plays the server: accounts says what it lists, by how often it was
// asked since the code was given.
type linking struct {
	accounts func(polls int64) string
	given    atomic.Int64 // codes
	polls    atomic.Int64
	device   string
}

func (l *linking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/qrcodelink/raw":
		l.given.Add(1)
		l.device = r.URL.Query().Get("device_name")
		fmt.Fprint(w, `{"device_link_uri":"sgnl://linkdevice?uuid=x&pub_key=y"}`)
	case "/v1/accounts":
		if l.given.Load() > 0 {
			l.polls.Add(1)
		}
		body := l.accounts(l.polls.Load())
		if body == "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, body)
	default:
		http.NotFound(w, r)
	}
}

func TestLinkWaitsForTheAccount(t *testing.T) {
	after := func(n int64, before, then string) func(int64) string {
		return func(polls int64) string {
			if polls < n {
				return before
			}
			return then
		}
	}
	for _, c := range []struct {
		name, number string
		accounts     func(int64) string
		says         string // "" for no error
		shown        int
		took         time.Duration
	}{
		{"scanned at once", number, after(1, `[]`, `["+15550100000"]`), "", 1, 2 * time.Second},
		{"scanned later, beside another account", number, after(30, `["+1"]`, `["+1","+15550100000"]`), "", 1, time.Minute},
		{"the server stumbles", number, func(n int64) string { return []string{`[]`, ``, ``, `["+15550100000"]`}[n] }, "", 1, 6 * time.Second},
		{"any account will do", "", after(1, `["+1"]`, `["+2","+1"]`), "", 1, 2 * time.Second},
		{"another account", number, after(1, `[]`, `["+2"]`), "BOTD_NUMBER", 1, 2 * time.Second},
		{"nobody scans", number, after(1, `[]`, `[]`), "ask for a new one", 1, 5 * time.Minute},
		{"our account is there", number, after(1, `["+15550100000"]`, ``), "already", 0, 0},
		{"no accounts are told", number, after(1, ``, ``), "accounts", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &linking{accounts: c.accounts}
				shown := 0
				begun := time.Now()
				err := piped(t, c.number, l.ServeHTTP).Link(t.Context(), "bot & co", func(uri string) {
					shown++
					if uri != "sgnl://linkdevice?uuid=x&pub_key=y" || l.device != "bot & co" {
						t.Errorf("shown %q for %q", uri, l.device)
					}
				})
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || shown != c.shown || time.Since(begun) != c.took {
					t.Errorf("shown %d times, after %s: %v", shown, time.Since(begun), err)
				}
				if err != nil && strings.Contains(err.Error(), "+2") {
					t.Errorf("a number would reach the log: %v", err)
				}
			})
		})
	}
}

func TestLinkSaysWhereTheCodeIsOnlyAPicture(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/accounts" {
			fmt.Fprint(w, "[]")
			return
		}
		http.NotFound(w, r)
	})
	err := c.Link(t.Context(), "bot & co", func(string) { t.Error("something was shown") })
	if err == nil || !strings.Contains(err.Error(), "/v1/qrcodelink?device_name=bot+%26+co") || !strings.Contains(err.Error(), "only as a picture") {
		t.Errorf("got %v", err)
	}
}

func TestLinkEndsWithItsContext(t *testing.T) {
	l := &linking{accounts: func(int64) string { return `[]` }}
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	err := client(t, l.ServeHTTP).Link(ctx, "bot", func(string) { stop(enough) })
	if !errors.Is(err, enough) {
		t.Errorf("ended by %v", err)
	}
}

func TestLinkWantsANameForTheDevice(t *testing.T) {
	l := &linking{accounts: func(int64) string { return `[]` }}
	if err := client(t, l.ServeHTTP).Link(t.Context(), "", func(string) {}); err == nil || l.given.Load() != 0 {
		t.Errorf("got %v", err)
	}
}
