package custom_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/upstream"
)

// png is the head of a picture of one pixel, and enough of a picture for its head to be read.
var png, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

// serve runs a server that may be asked, and returns its host:port.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // or the end of the connection is not noticed
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections() // a handler may be writing for ever
		s.Close()
	})
	return s.Listener.Addr().String()
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// http makes a command that asks host; fields are those beside url.
func web(t *testing.T, host, path, fields string) *command.Command {
	t.Helper()
	return one(t, options(host), fmt.Sprintf("[command.http]\nurl = \"http://%s/%s\"\n%s", host, path, fields))
}

func TestAddressHasWhatPeopleWrote(t *testing.T) {
	for _, tt := range []struct{ url, text, want string }{
		{"a/{words}", "zażółć gęślą", "/a/za%C5%BC%C3%B3%C5%82%C4%87%20g%C4%99%C5%9Bl%C4%85"},
		{"a?q={words}&n={sender_name}", "a&b=c d+e#f", "/a?q=a%26b%3Dc+d%2Be%23f&n=Ala+Ma-kota"},
		{"a/{word2}/{word1}/b", " raz  dwa trzy", "/a/dwa/raz/b"},
		{"{word1}/b", "a/../../c", ""},
		{"a/{word1}/b", "..", ""},
		{"a/{word1}{word2}/b", ". .", ""},
		{"a/{word1}/b", `..\c`, ""},
		{"a/{word1}/b", "..c", "/a/..c/b"},
		{"a?{words}", "x=1", "/a?x%3D1"},
		{"a/{word9}", "raz", "/a/"},
		{"a/{words}", "http://10.0.0.1/", "/a/http:%2F%2F10.0.0.1%2F"},
		{"a/{words}", strings.Repeat("x", 5000), ""},
	} {
		var got string
		host := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.RequestURI
			_, _ = io.WriteString(w, "ok")
		})
		_, err := ask(t, web(t, host, tt.url, ""), tt.text)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s with %.50q: %q, %v; want %q", tt.url, tt.text, got, err, tt.want)
		}
	}
}

func TestAddressHasParameters(t *testing.T) {
	var got string
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.RequestURI
		_, _ = io.WriteString(w, "ok")
	})
	c := one(t, options(host), `params = [{ name = "ile", kind = "number" }, { name = "kto", kind = "person" }, { name = "reszta", kind = "rest", optional = true }]
[command.http]
url = "http://`+host+`/{ile}/{kto}?{reszta}"
`)
	for text, want := range map[string]string{"−5 a b": "/-5/u-ela?a+b", "0": "/0/u-ela?"} {
		if _, err := ask(t, c, text); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestHeadersComeFromFiles(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got http.Header
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = io.WriteString(w, "ok")
	})
	c := web(t, host, "", fmt.Sprintf("header = { x-api-key = { file = %q }, Accept-Language = \"pl\" }", key))
	if _, err := ask(t, c, ""); err != nil || got.Get("X-Api-Key") != "s3cret" || got.Get("Accept-Language") != "pl" || got.Get("User-Agent") != "botd-test" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAnswersAreShownAsTheFileSays(t *testing.T) {
	const data = `{"data":[{"title":"Kot","n":12345678901234567890,"ok":true,"no":null,"in":{}}],"a":"x"}`
	for _, tt := range []struct{ body, fields, want string }{
		{" raz\r\ndwa \n", "", "raz\ndwa"},
		{"<b>raz</b> &amp; dwa", "", "<b>raz</b> &amp; dwa"}, // as it is
		{"a\x1b[31mb\u202ec", "", "a[31mbc"},
		{data, `as = "json"` + "\n" + `path = "data.0.title"`, "Kot"},
		{data, `as = "json"` + "\n" + `path = "data.0.n"`, "12345678901234567890"},
		{data, `as = "json"` + "\n" + `path = "data.0.ok"`, "true"},
		{data, `as = "json"` + "\n" + `template = "{data.0.title}: {a} {{}}"`, "Kot: x {}"},
		{`"raz"`, `as = "hook"`, `"raz"`},
		{` {"text": " raz ", "more": 1} `, `as = "hook"`, "raz"},
		{"  ", `as = "hook"`, ""},
		{"{}", `as = "hook"`, ""},
	} {
		reply, err := ask(t, web(t, serve(t, says(tt.body)), "", tt.fields), private)
		if err != nil || reply.Text != tt.want || reply.Picture != nil {
			t.Errorf("%q with %s: %+v, %v; want %q", tt.body, tt.fields, reply, err, tt.want)
		}
	}
}

func TestAnswersThatCannotBeShown(t *testing.T) {
	const data = `{"data":[{"no":null,"in":{}}],"tajemne":"słowo"}`
	for _, tt := range []struct{ body, fields, says string }{
		{" \n", "", "empty"},
		{"a\xffb", "", "no text"},
		{"a\x00b", "", "no text"},
		{string(png), "", "no text"},
		{strings.Repeat("x", 64<<10+1), "", "too large"},
		{"tajemne", `as = "json"` + "\n" + `path = "a"`, "no JSON"},
		{data + "x", `as = "json"` + "\n" + `path = "data"`, "no JSON"},
		{data, `as = "json"` + "\n" + `path = "data.1"`, "nothing at data.1"},
		{data, `as = "json"` + "\n" + `path = "data.-1"`, "nothing at data.-1"},
		{data, `as = "json"` + "\n" + `path = "data.0.no"`, "at data.0.no"},
		{data, `as = "json"` + "\n" + `path = "data.0.in"`, "at data.0.in"},
		{data, `as = "json"` + "\n" + `path = "data.0.no.more"`, "at data.0.no.more"},
		{data, `as = "json"` + "\n" + `template = "{tajemne} {b}"`, "at b"},
		{`{"a":"` + strings.Repeat("x", 64<<10+1) + `"}`, `as = "json"` + "\n" + `path = "a"`, "too long"},
		{strings.Repeat("[", 1<<20), `as = "json"` + "\n" + `path = "a"`, "no JSON"},
		{`{"text": "tajemne`, `as = "hook"`, "no JSON"},
		{`{"text": 1}`, `as = "hook"`, "no JSON"},
		{`{"picture": "tajemne słowo"}`, `as = "hook"`, "no base64"},
		{`{"picture": "` + base64.StdEncoding.EncodeToString([]byte("<html>")) + `"}`, `as = "hook"`, "not a picture"},
		{"<html>tajemne</html>", `as = "picture"`, "not a picture"},
	} {
		reply, err := ask(t, web(t, serve(t, says(tt.body)), "", tt.fields), private)
		if err == nil || !strings.Contains(err.Error(), tt.says) || reply.Text != "" || reply.Picture != nil {
			t.Errorf("%.50q with %s: %.50q, %v; want an error that says %q", tt.body, tt.fields, reply.Text, err, tt.says)
		}
	}
}

func TestPicturesAreTheAnswerOrAtItsAddress(t *testing.T) {
	var keys []string
	images := serve(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("X-Key"))
		_, _ = w.Write(png)
	})
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			_, _ = io.WriteString(w, `{"at":["/image?x=1"]}`)
		case "/there":
			_, _ = io.WriteString(w, `{"at":["http://`+images+`/image"]}`)
		default:
			_, _ = w.Write(png)
		}
	})
	fields := "as = \"picture\"\nheader = { X-Key = \"k\" }\n"
	for path, more := range map[string]string{"": "", "here": `path = "at.0"`, "there": "path = \"at.0\"\nallow_redirects = [\"" + images + "\"]"} {
		c := one(t, options(api, images), fmt.Sprintf("[command.http]\nurl = \"http://%s/%s\"\n%s%s", api, path, fields, more))
		reply, err := ask(t, c, private)
		if err != nil || reply.Picture == nil || !bytes.Equal(reply.Picture.Data, png) {
			t.Errorf("%s: %+v, %v", path, reply, err)
		}
	}
	if len(keys) != 1 || keys[0] != "" {
		t.Errorf("the other host got the key: %q", keys)
	}
	c := one(t, options(api, images), fmt.Sprintf("[command.http]\nurl = \"http://%s/there\"\n%spath = \"at.0\"", api, fields))
	if _, err := ask(t, c, private); !errors.Is(err, upstream.ErrHost) {
		t.Errorf("a host that is not allowed: %v", err)
	}
}

func TestHookIsToldWhoAsksWhat(t *testing.T) {
	var got map[string]any
	var kind string
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		kind = r.Method + " " + r.Header.Get("Content-Type")
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"text": "raz", "picture": base64.StdEncoding.EncodeToString(png)})
	})
	c := one(t, options(host), `params = [{ name = "ile", kind = "number" }, { name = "kto", kind = "person" }, { name = "co", kind = "rest", optional = true }]
[command.http]
url = "http://`+host+`/"
as = "hook"
`)
	reply, err := ask(t, c, "0")
	if err != nil || reply.Text != "raz" || reply.Picture == nil || !bytes.Equal(reply.Picture.Data, png) || kind != "POST application/json" {
		t.Errorf("%s: %+v, %v", kind, reply, err)
	}
	want := `{"admin":true,"args":{"ile":0,"kto":"u-ela"},"command":"x","group":"g-1","group_name":"Nasza grupa","lang":"pl",` +
		`"sender":"u-ala","sender_name":"Ala Ma-kota","text":"0","timestamp":1700000000123}`
	if raw, _ := json.Marshal(got); string(raw) != want {
		t.Errorf("told\n%s\nwant\n%s", raw, want)
	}
}

// Servers that lie, dawdle or lead astray cost a bounded time and a failure.
func TestServersThatAreNotWell(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	dripping := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			select {
			case <-time.After(5 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
	}
	loop := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) }
	inside := serve(t, says("inside"))
	astray := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+inside+"/", http.StatusFound)
	}
	short := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "x")
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, private)
		}
	}
	for _, tt := range []struct {
		name   string
		server http.HandlerFunc
		more   string
		is     error
		says   string
	}{
		{name: "endless", server: endless, is: upstream.ErrTooLarge},
		{name: "slow", server: slow, says: "deadline"},
		{name: "dripping", server: dripping, says: "deadline"},
		{name: "redirect loop", server: loop, says: "redirects"},
		{name: "redirect elsewhere", server: astray, is: upstream.ErrHost},
		{name: "redirect to a private address", server: astray, more: "allow_redirects = [\"" + inside + "\"]", is: upstream.ErrPrivateAddress},
		{name: "short", server: short, says: "EOF"},
		{name: "not found", server: status(404), says: "404"},
		{name: "out of order", server: status(500), says: "500"},
		{name: "busy", server: status(429), says: "429"},
	} {
		for _, as := range []string{"text", "picture", "hook"} {
			if as == "hook" && strings.HasPrefix(tt.name, "redirect") {
				continue // what is posted is not redirected
			}
			t.Run(tt.name+"/"+as, func(t *testing.T) {
				host, timeout := serve(t, tt.server), "20s"
				if tt.says == "deadline" {
					timeout = "200ms"
				}
				c := one(t, options(host), fmt.Sprintf("timeout = %q\n[command.http]\nurl = \"http://%s/{words}\"\nas = %q\n%s", timeout, host, as, tt.more))
				reply, err := ask(t, c, private)
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) || reply.Text != "" {
					t.Errorf("%q, %v", reply.Text, err)
				}
			})
		}
	}
}

func TestPostIsNotRedirected(t *testing.T) {
	asked := 0
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
	})
	if _, err := ask(t, web(t, host, "", `as = "hook"`), private); err == nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestServerThatWantsPauseIsNotAsked(t *testing.T) {
	asked := 0
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	c := web(t, host, "{words}", "")
	for range 3 {
		if _, err := ask(t, c, private); err == nil {
			t.Error("an answer")
		}
	}
	if _, err := ask(t, c, private); !errors.Is(err, upstream.ErrNotNow) || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}
