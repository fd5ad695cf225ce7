package upstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/upstream"
)

// png is the head of a picture of one pixel, and a rest that nobody reads.
const png = "\x89PNG\r\n\x1a\n" + "\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" + "and the rest"

// api is a cat API whose answers a test sets: the search's body, and what its
// picture's address serves.
type api struct {
	*httptest.Server
	search  string // %s is the server's address
	status  int
	picture http.HandlerFunc
	asked   []*http.Request
}

func newAPI(t *testing.T) *api {
	a := &api{search: `[{"id":"a","url":"%s/cat.png","width":1,"height":1}]`, status: http.StatusOK}
	a.picture = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, png) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/images/search", func(w http.ResponseWriter, r *http.Request) {
		a.asked = append(a.asked, r)
		w.WriteHeader(a.status)
		fmt.Fprint(w, strings.ReplaceAll(a.search, "%s", a.URL))
	})
	mux.HandleFunc("GET /cat.png", func(w http.ResponseWriter, r *http.Request) { a.picture(w, r) })
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *api) cats(t *testing.T) *upstream.CatAPI {
	t.Helper()
	g := upstream.NewGuard([]string{a.Listener.Addr().String()}, net.Dialer{Timeout: 2 * time.Second})
	base, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(a.Listener.Addr().String())
	client := pool.New("cats", pool.Options{Dial: g.Dial})
	t.Cleanup(client.CloseIdle)
	return upstream.NewCatAPI(base, "the-key", "botd-test (mail)", client, upstream.NewPictures("botd-test (mail)", client, hosts(t, "127.0.0.1:"+port, "127.0.0.1:1", "localhost:"+port)))
}

func TestRandomReturnsThePictureFound(t *testing.T) {
	a := newAPI(t)
	a.picture = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("User-Agent") != "botd-test (mail)" || r.Header.Get("X-Api-Key") != "" {
			t.Errorf("the picture was asked for with %v", r.Header)
		}
		fmt.Fprint(w, png)
	}
	p, err := a.cats(t).Random(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.ContentType != "image/png" || p.Extension() != ".png" || string(p.Data) != png {
		t.Errorf("got %s, %s, %q", p.ContentType, p.Extension(), p.Data)
	}
	r := a.asked[0]
	if r.Header.Get("User-Agent") != "botd-test (mail)" || r.Header.Get("X-Api-Key") != "the-key" || strings.Contains(r.URL.String(), "the-key") {
		t.Errorf("asked %s with %v", r.URL, r.Header)
	}
}

func TestRandomFailsClearly(t *testing.T) {
	tests := []struct {
		name, search string
		status       int
		picture      http.HandlerFunc
		is           error
		says         string
	}{
		{name: "search refused", status: 500, says: "HTTP status 500"},
		{name: "search is no JSON", search: "<html>", says: "read the answer"},
		{name: "nothing found", search: "[]", is: upstream.ErrNoPicture},
		{name: "an address that is none", search: `[{"url":"file:///etc/passwd"}]`, says: "no web address"},
		{name: "an address inside the operator's network", search: `[{"url":"http://127.0.0.1:1/cat.png"}]`, is: upstream.ErrPrivateAddress},
		{name: "an address at another host", search: `[{"url":"http://cats.example/cat.png"}]`, is: upstream.ErrHost, says: `"cats.example"`},
		{name: "an address with a user name", search: `[{"url":"http://ala:secret@127.0.0.1/cat.png"}]`, says: "no web address"},
		{name: "no such picture", search: `[{"url":"%s/none.png"}]`, says: "HTTP status 404"},
		{name: "a page instead of a picture", is: upstream.ErrNotAPicture, picture: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "<html>captive portal</html>")
		}},
		{name: "a giant that says so", is: upstream.ErrTooLarge, picture: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(upstream.MaxPicture+1))
			fmt.Fprint(w, png)
		}},
		{name: "a giant that does not", is: upstream.ErrTooLarge, picture: func(w http.ResponseWriter, _ *http.Request) {
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			fmt.Fprint(w, png)
			for range 9 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}},
		{name: "cut short", says: "unexpected EOF", picture: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, png)
		}},
		{name: "redirected into the operator's network", is: upstream.ErrPrivateAddress, picture: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/cat.png", http.StatusFound)
		}},
		{name: "redirected to another host", is: upstream.ErrHost, says: "cats.example", picture: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://cats.example/cat.png", http.StatusFound)
		}},
		{name: "redirected to a file", says: "a redirect to no web address", picture: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}},
		{name: "redirected to a name inside the operator's network", is: upstream.ErrPrivateAddress, picture: func(w http.ResponseWriter, r *http.Request) {
			_, port, _ := net.SplitHostPort(r.Host)
			http.Redirect(w, r, "http://localhost:"+port+"/cat.png", http.StatusFound)
		}},
		{name: "redirected for ever", says: "more than 3 redirects", picture: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t)
			if tt.search != "" {
				a.search = tt.search
			}
			if tt.status != 0 {
				a.status = tt.status
			}
			if tt.picture != nil {
				a.picture = tt.picture
			}
			p, err := a.cats(t).Random(t.Context())
			if err == nil {
				t.Fatalf("got a picture of %d bytes", len(p.Data))
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %q, want one that is %q", err, tt.is)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
		})
	}
}
