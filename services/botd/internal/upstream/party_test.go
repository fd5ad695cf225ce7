package upstream_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"quartet/kit/pool"
	"quartet/services/botd/internal/upstream"
)

// pipes is a listener without a network, so that time can be made up.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// party is an outside party in a bubble of made-up time.
type party struct {
	asked  atomic.Int64 // searches
	at     atomic.Int64 // searches now
	most   atomic.Int64 // at a time
	answer atomic.Pointer[http.HandlerFunc]

	fetched atomic.Int64                     // pictures
	file    atomic.Pointer[http.HandlerFunc] // answers for these; nil = well

	client *pool.Client
	base   *url.URL
	hosts  upstream.Hosts
}

func (p *party) says(f http.HandlerFunc) { p.answer.Store(&f) }

func (p *party) commons() *upstream.Commons {
	return upstream.NewCommons(p.base, "botd-test", p.client, p.pictures())
}

func (p *party) cats() *upstream.CatAPI {
	return upstream.NewCatAPI(p.base, "", "botd-test", p.client, p.pictures())
}

func (p *party) pictures() *upstream.Pictures {
	return upstream.NewPictures("botd-test", p.client, p.hosts)
}

// hosts are these hosts, to be asked.
func hosts(t testing.TB, patterns ...string) upstream.Hosts {
	t.Helper()
	h, err := upstream.ParseHosts(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// bubble runs test with a party that answers searches well until told else.
func bubble(t *testing.T, test func(t *testing.T, p *party)) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		p := &party{base: &url.URL{Scheme: "http", Host: "api.example"}, hosts: hosts(t, "upload.example", "a.example", "b.example")}
		p.says(well)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/thumb/") {
				p.fetched.Add(1)
				if f := p.file.Load(); f != nil {
					(*f)(w, r)
					return
				}
				fmt.Fprint(w, png)
				return
			}
			p.asked.Add(1)
			p.most.Store(max(p.most.Load(), p.at.Add(1)))
			defer p.at.Add(-1)
			(*p.answer.Load())(w, r)
		})}
		go func() { _ = server.Serve(l) }()
		p.client = pool.New("party", pool.Options{Dial: l.dial})
		defer func() {
			p.client.CloseIdle()
			_ = server.Close()
			synctest.Wait()
		}()
		test(t, p)
	})
}

func well(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		fmt.Fprint(w, `[{"url":"http://upload.example/thumb/cat.png"}]`)
		return
	}
	fmt.Fprint(w, strings.ReplaceAll(found, "%s", "http://upload.example"))
}

func down(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }

// once lets f answer the next search, and the ones after go well.
func (p *party) once(f http.HandlerFunc) {
	p.says(func(w http.ResponseWriter, r *http.Request) {
		p.says(well)
		f(w, r)
	})
}

// late wants to be asked again after a time.
func late(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set("Retry-After", header)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// asks are the two APIs, asked.
func (p *party) asks() map[string]func(context.Context) error {
	cats, commons := p.cats(), p.commons()
	return map[string]func(context.Context) error{
		"thecatapi": func(ctx context.Context) error { _, err := cats.Random(ctx); return err },
		"commons":   func(ctx context.Context) error { _, _, err := commons.Find(ctx, "kot"); return err },
	}
}
