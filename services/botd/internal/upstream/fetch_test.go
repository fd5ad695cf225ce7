package upstream_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/upstream"
)

// web lets test fetch from hosts that all answer as handle does.
func web(t *testing.T, handle http.HandlerFunc, test func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts)) {
	bubble(t, func(t *testing.T, p *party) {
		p.says(handle)
		test(t, upstream.NewFetcher("botd-test (mail)", p.client), hosts(t, "*.x.example"))
	})
}

func TestFetchSendsWhatItIsTold(t *testing.T) {
	web(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != "POST" || string(body) != `{"a":1}` || r.Header.Get("X-Key") != "k" || r.Header.Get("User-Agent") != "botd-test (mail)" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %q with %v", r.Method, body, r.Header)
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "done")
	}, func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
		body, err := f.Fetch(t.Context(), upstream.FetchRequest{
			Method: "POST", URL: "http://a.x.example/hook", Body: []byte(`{"a":1}`), Hosts: allowed,
			Header: http.Header{"X-Key": {"k"}, "content-type": {"application/json"}},
		})
		if err != nil || string(body) != "done" {
			t.Errorf("%q, %v", body, err)
		}
	})
}

func TestFetchFailsClearlyAndTellsNothing(t *testing.T) {
	const secret = "s3cret"
	for name, tt := range map[string]struct {
		url    string // "" is one that is well
		method string
		header string
		answer http.HandlerFunc
		is     error
		says   string
	}{
		"another host":               {url: "http://y.example/" + secret, is: upstream.ErrHost, says: `"y.example"`},
		"no web address":             {url: "ftp://a.x.example/" + secret, says: "no web address"},
		"no address":                 {url: "http://a.x.example/%zz" + secret, says: "no web address"},
		"no method":                  {method: "GET " + secret, says: "method"},
		"a header that is none":      {header: secret + "\n", says: "header"},
		"not found":                  {answer: late(404, "", secret), says: "HTTP status 404"},
		"down":                       {answer: late(500, "", secret), says: "HTTP status 500"},
		"later":                      {answer: late(429, "7", secret), says: "429, to be asked again in 7s"},
		"redirected to another host": {answer: redirect("http://y.example/" + secret), is: upstream.ErrHost},
		"redirected to nonsense":     {answer: redirect("http://a.x.example:" + secret), says: "a redirect to no web address"},
		"redirected for ever":        {answer: redirect("/" + secret), says: "more than 3 redirects"},
		"a redirected write":         {method: "POST", answer: redirect("/"), says: "HTTP status 302"},
		"a redirect to nowhere":      {answer: late(302, "", ""), says: "HTTP status 302"},
		"too large, as it says":      {answer: announces(upstream.MaxFetch+1, secret), is: upstream.ErrTooLarge},
		"far too large, as it says":  {answer: announces(1<<40, secret), is: upstream.ErrTooLarge},
		"too large, unsaid":          {answer: endless, is: upstream.ErrTooLarge},
		"a bomb of gzip":             {answer: bomb, is: upstream.ErrTooLarge},
		"less than it says":          {answer: announces(100, secret), says: "unexpected EOF"},
		"gzip that is none":          {answer: encoding("gzip", strings.Repeat(secret, 9)), says: "gzip"},
		"two lengths":                {answer: lies("Content-Length: 5\r\nContent-Length: 6", secret), says: "Content-Length"},
		"a length below nothing":     {answer: lies("Content-Length: -1", secret), says: "Content-Length"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.answer == nil {
				tt.answer = func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }
			}
			web(t, tt.answer, func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
				r := upstream.FetchRequest{Method: tt.method, URL: tt.url, Hosts: allowed}
				if r.URL == "" {
					r.URL = "http://a.x.example/" + secret + "?key=" + secret
				}
				if tt.header != "" {
					r.Header = http.Header{"X-Key": {tt.header}}
				}
				body, err := f.Fetch(t.Context(), r)
				if err == nil || body != nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%q, %v; want %v, %q", body, err, tt.is, tt.says)
				}
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("error %v tells what it should not", err)
				}
			})
		})
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// announces more than it sends.
func announces(length int64, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(length))
		fmt.Fprint(w, body)
	}
}

func encoding(name, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", name)
		fmt.Fprint(w, body)
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	for chunk := make([]byte, 64<<10); r.Context().Err() == nil; {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// bomb is 16 MiB of a picture in 16 KiB.
func bomb(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept-Encoding") == "gzip" {
		encoding("gzip", packed())(w, r)
	}
}

var packed = sync.OnceValue(func() string {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	_, _ = io.WriteString(z, png)
	for range 16 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	return out.String()
})

// lies is an answer that no server of good faith would give.
func lies(headers, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n%s\r\n\r\n%s", headers, body)
	}
}

func TestPicturesAreBoundedAfterDecompression(t *testing.T) {
	bubble(t, func(t *testing.T, p *party) {
		for name, tt := range map[string]struct {
			answer http.HandlerFunc
			is     error
		}{
			"a bomb of gzip":              {bomb, upstream.ErrTooLarge},
			"an endless one":              {endless, upstream.ErrTooLarge},
			"packed in what nobody reads": {encoding("br", "xxxx"), upstream.ErrNotAPicture},
			"less than it says":           {announces(100, png), io.ErrUnexpectedEOF},
			"more than it says":           {lies("Content-Length: 8", png), upstream.ErrNotAPicture}, // the head alone
			"both ways of a length":       {lies("Content-Length: 9000000\r\nTransfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(png), png)), nil},
			"nothing":                     {announces(0, ""), upstream.ErrNotAPicture},
		} {
			pictures := p.pictures()
			p.file.Store(&tt.answer)
			if _, err := pictures.Get(t.Context(), "http://a.example/thumb/a"); !errors.Is(err, tt.is) {
				t.Errorf("%s: %v, want %v", name, err, tt.is)
			}
		}
	})
}

func TestADripIsCutOff(t *testing.T) {
	drip := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100000")
		for r.Context().Err() == nil {
			fmt.Fprint(w, "x")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Second)
		}
	}
	web(t, drip, func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
		began := time.Now()
		_, err := f.Fetch(t.Context(), upstream.FetchRequest{URL: "http://a.x.example/", Hosts: allowed})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("the pool's time: after %v, %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began = time.Now()
		if _, err := f.Fetch(ctx, upstream.FetchRequest{URL: "http://b.x.example/", Hosts: allowed}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second {
			t.Errorf("the caller's time: after %v, %v", time.Since(began), err)
		}
		time.Sleep(2 * time.Second) // the drips end
	})
}

func TestARedirectToAnotherHostGetsNoHeaders(t *testing.T) {
	var keys []string
	web(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Host+":"+r.Header.Get("X-Key")+r.Header.Get("Referer"))
		switch r.URL.Path {
		case "/":
			redirect("/again")(w, r)
		case "/again":
			redirect("http://b.x.example/there")(w, r)
		case "/there":
			redirect("http://a.x.example/back")(w, r)
		}
	}, func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
		_, err := f.Fetch(t.Context(), upstream.FetchRequest{URL: "http://a.x.example/", Hosts: allowed, Header: http.Header{"X-Key": {"k"}}})
		if want := "a.x.example:k a.x.example:k b.x.example: a.x.example:"; err != nil || strings.Join(keys, " ") != want {
			t.Errorf("%v, %v; want %s", keys, err, want)
		}
	})
}

func TestARedirectFromHTTPSToHTTPIsRefused(t *testing.T) {
	a := newAPI(t)
	secure := httptest.NewTLSServer(redirect(a.URL + "/cat.png"))
	defer secure.Close()
	allowed := hosts(t, a.Listener.Addr().String(), secure.Listener.Addr().String())
	client := pool.New("web", pool.Options{TLS: secure.Client().Transport.(*http.Transport).TLSClientConfig})
	t.Cleanup(client.CloseIdle)
	_, err := upstream.NewFetcher("botd-test", client).Picture(t.Context(), upstream.FetchRequest{URL: secure.URL, Hosts: allowed})
	if err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("error %v", err)
	}
}

func TestAHostIsLeftAloneAndTheOthersAreNot(t *testing.T) {
	web(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "down.x.example" {
			down(w, r)
		}
	}, func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
		ask := func(host string) error {
			_, err := f.Fetch(t.Context(), upstream.FetchRequest{URL: "http://" + host + ".x.example/", Hosts: allowed})
			return err
		}
		for range upstream.MaxFailures {
			if status, ok := errors.AsType[*upstream.StatusError](ask("down")); !ok || status.Status != 500 {
				t.Fatal("it was not asked")
			}
		}
		if err := ask("down"); !errors.Is(err, upstream.ErrNotNow) {
			t.Errorf("error %v", err)
		}
		if err := ask("up"); err != nil {
			t.Errorf("another host: %v", err)
		}
		time.Sleep(upstream.Outage)
		if err := ask("down"); err == nil || errors.Is(err, upstream.ErrNotNow) {
			t.Errorf("the one that tries: %v", err)
		}
	})
}

// What a host answers to its callers' mistakes does not shut it off.
func TestARefusalIsNoFailureOfTheHost(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{"404": late(404, "", ""), "too large": endless, "redirected away": redirect("http://y.example/")} {
		web(t, answer, func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
			for range 2 * upstream.MaxFailures {
				_, err := f.Fetch(t.Context(), upstream.FetchRequest{URL: "http://a.x.example/", Hosts: allowed})
				if err == nil || errors.Is(err, upstream.ErrNotNow) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestHostsThatAreRememberedAreBounded(t *testing.T) {
	web(t, late(429, "60", ""), func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
		ask := func(i int) error {
			_, err := f.Fetch(t.Context(), upstream.FetchRequest{URL: fmt.Sprintf("http://h%d.x.example/", i), Hosts: allowed})
			return err
		}
		for i := range upstream.MaxHosts + 10 {
			_ = ask(i)
		}
		if err := ask(0); !errors.Is(err, upstream.ErrNotNow) {
			t.Errorf("one of the first: %v", err)
		}
		if err := ask(upstream.MaxHosts + 5); errors.Is(err, upstream.ErrNotNow) {
			t.Error("more hosts are remembered than may be")
		}
		time.Sleep(time.Minute)
		_ = ask(upstream.MaxHosts + 5)
		if err := ask(upstream.MaxHosts + 5); !errors.Is(err, upstream.ErrNotNow) {
			t.Errorf("there was room again: %v", err)
		}
	})
}

func TestFetchIsBoundedAsTold(t *testing.T) {
	web(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "0123456789") }, func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
		for limit, fits := range map[int64]bool{9: false, 10: true, 0: true, 1 << 40: true} {
			_, err := f.Fetch(t.Context(), upstream.FetchRequest{URL: "http://a.x.example/", Hosts: allowed, MaxBody: limit})
			if (err == nil) != fits || !fits && !errors.Is(err, upstream.ErrTooLarge) {
				t.Errorf("%d: %v", limit, err)
			}
		}
	})
}

func TestNoAnswerIsLargerThanAPicture(t *testing.T) {
	web(t, announces(upstream.MaxPicture+1, "x"), func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
		if _, err := f.Fetch(t.Context(), upstream.FetchRequest{URL: "http://a.x.example/", Hosts: allowed, MaxBody: 1 << 40}); !errors.Is(err, upstream.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
}

func TestFetchedPicturesAreChecked(t *testing.T) {
	web(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cat" {
			fmt.Fprint(w, png)
			return
		}
		fmt.Fprint(w, "<html>")
	}, func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
		p, err := f.Picture(t.Context(), upstream.FetchRequest{URL: "http://a.x.example/cat", Hosts: allowed})
		if err != nil || p.ContentType != "image/png" || string(p.Data) != png {
			t.Errorf("%s, %v", p.ContentType, err)
		}
		if _, err := f.Picture(t.Context(), upstream.FetchRequest{URL: "http://a.x.example/dog", Hosts: allowed}); !errors.Is(err, upstream.ErrNotAPicture) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAWriteIsSentOnce(t *testing.T) {
	for _, answer := range []http.HandlerFunc{late(429, "1", ""), late(503, "1", ""), down} {
		sent := 0
		web(t, func(w http.ResponseWriter, r *http.Request) {
			sent++
			answer(w, r)
		}, func(t *testing.T, f *upstream.Fetcher, allowed upstream.Hosts) {
			if _, err := f.Fetch(t.Context(), upstream.FetchRequest{Method: "POST", URL: "http://a.x.example/", Hosts: allowed}); err == nil || sent != 1 {
				t.Errorf("sent %d times, %v", sent, err)
			}
		})
	}
}
