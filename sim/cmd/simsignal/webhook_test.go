package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hook is what posts go to: it holds each one until the test says how it is
// answered.
type hook struct {
	*httptest.Server
	t      *testing.T
	posts  chan string // bodies, as they come
	status chan int    // answers, one a post
}

func newHook(t *testing.T) *hook {
	h := &hook{t: t, posts: make(chan string), status: make(chan int)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s as %q, %v", r.Method, r.Header.Get("Content-Type"), err)
		}
		select {
		case h.posts <- string(body):
		case <-r.Context().Done():
			return
		}
		select {
		case status := <-h.status:
			w.WriteHeader(status)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// next returns the text in the post that comes next, which stays open.
func (h *hook) next() (text string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), bounds)
	defer cancel()
	select {
	case body := <-h.posts:
		return posted(h.t, body).text()
	case <-ctx.Done():
		h.t.Fatal("no post")
		return ""
	}
}

// posted decodes a post, which is one line of JSON-RPC.
func posted(t *testing.T, body string) (f frame) {
	t.Helper()
	var line rpcLine
	if err := json.Unmarshal([]byte(body), &line); err != nil || line.Method != "receive" || strings.Count(body, "\n") != 1 || !strings.HasSuffix(body, "\n") || !strings.HasPrefix(body, `{"jsonrpc":"2.0",`) {
		t.Fatalf("posted %q, %v", body, err)
	}
	if line.Error == nil {
		if err := json.Unmarshal(line.Params, &f); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestTheWebhookGetsABurstWholeAndInOrder(t *testing.T) {
	const n = 2000
	var got []string
	all := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // one at a time: that is the point
		if got = append(got, posted(t, string(body)).text()); len(got) == n {
			close(all)
		}
	}))
	defer server.Close()
	s := start(t, "-webhook", server.URL)
	s.emit("0", numbered(n)...)
	v := s.until("posted", func(v stats) bool { return v.Posted == n })
	<-all
	for i, text := range got {
		if want := fmt.Sprint("message ", i); text != want {
			t.Fatalf("post %d has %q", i, text)
		}
	}
	if len(v.Dropped) != 0 || v.Delivered != 0 {
		t.Errorf("%+v", v)
	}
}

func TestTheWebhookGetsTheFramesOfEveryAccountAndErrors(t *testing.T) {
	h := newHook(t)
	s := start(t, "-webhook", h.URL, "-quirks", "error_frames=1")
	s.emit("0", "an error instead")
	s.must(202, "POST", "/_sim/frames", `[{"raw":{"account":"+15550199999","envelope":{"dataMessage":{"message":"of another account"}}}}]`, nil)
	if text := h.next(); text != "" {
		t.Errorf("the error has the text %q", text)
	}
	h.status <- 201
	if text := h.next(); text != "of another account" {
		t.Errorf("posted %q", text)
	}
	h.status <- 200
	s.until("posted", func(v stats) bool { return v.Posted == 2 })
}

func TestNothingIsPostedAgain(t *testing.T) {
	h := newHook(t)
	s := start(t, "-webhook", h.URL)
	s.emit("0", "refused", "taken", "accepted only")
	for _, post := range []struct {
		text   string
		status int
	}{{"refused", 500}, {"taken", 200}, {"accepted only", 202}} {
		if text := h.next(); text != post.text {
			t.Fatalf("posted %q, want %q", text, post.text)
		}
		h.status <- post.status
	}
	s.until("counted", func(v stats) bool { return v.Posted == 1 && v.Dropped["webhook"] == 2 })
	h.Close()
	s.emit("0", "nobody is there")
	s.until("lost", func(v stats) bool { return v.Dropped["webhook"] == 3 })
}

// The answers that signal-cli gives while a post is open are heard after it;
// what needs no answer of signal-cli goes on.
func TestNoAnswerIsHeardWhileAPostIsOpen(t *testing.T) {
	h := newHook(t)
	s := start(t, "-webhook", h.URL)
	s.emit("0", "holds everything up", "comes later")
	h.next()
	calls := []struct{ method, path, body string }{
		{"POST", "/v2/send", message("x")},
		{"PUT", "/v1/typing-indicator/" + bot, `{"recipient":"` + publicKoty + `"}`},
		{"GET", "/v1/accounts", ""},
		{"GET", "/v1/groups/" + bot, ""},
	}
	answers := make(chan int, len(calls))
	for _, c := range calls {
		go func() {
			status, _, _, err := s.try(t.Context(), c.method, c.path, c.body)
			if err != nil {
				t.Errorf("%s: %v", c.path, err)
			}
			answers <- status
		}()
	}
	s.until("done at Signal", func(v stats) bool { return v.Sends == 1 && v.TypingStarted == 1 && v.Emitted == 1 })
	s.must(204, "GET", "/v1/health", "", nil)
	// A client that does not wait for it leaves no trace.
	gone, leave := context.WithCancel(t.Context())
	leaves := make(chan error, 1)
	go func() {
		_, _, _, err := s.try(gone, "POST", "/v2/send", message("y"))
		leaves <- err
	}()
	s.until("done at Signal", func(v stats) bool { return v.Sends == 2 })
	leave()
	if err := <-leaves; !errors.Is(err, context.Canceled) {
		t.Errorf("answered, %v", err)
	}
	if n := len(answers); n != 0 {
		t.Errorf("%d calls were answered while the post was open", n)
	}
	h.status <- 200
	h.next()
	h.status <- 200
	for range calls {
		if status := <-answers; status > 204 {
			t.Errorf("answered %d", status)
		}
	}
}

func TestWebsocketsGetTheFramesToo(t *testing.T) {
	h := newHook(t)
	s := start(t, "-webhook", h.URL)
	conn := s.dial(bot)
	s.emit("0", "both")
	if text := s.read(conn).text(); text != "both" { // before the post is over
		t.Errorf("the websocket got %q", text)
	}
	if text := h.next(); text != "both" {
		t.Errorf("the webhook got %q", text)
	}
	h.status <- 200
	s.until("counted", func(v stats) bool { return v.Delivered == 1 && v.Posted == 1 })
}

func TestResetEndsAPostThatIsNeverAnswered(t *testing.T) {
	h := newHook(t)
	s := start(t, "-webhook", h.URL)
	s.emit("0", "never answered", "forgotten")
	h.next()
	s.must(204, "POST", "/_sim/reset", "", nil)
	s.until("free", func(v stats) bool { return v.Queued == 0 })
	s.emit("0", "after")
	if text := h.next(); text != "after" {
		t.Errorf("posted %q", text)
	}
	// The stop ends this one.
}

func TestAWebhookThatCannotWorkIsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"-webhook", "127.0.0.1:9102/webhook"}, {"-webhook", "unix:///run/x"}, {"-webhook", "http://%zz/secret"},
		{"-webhook", "http://127.0.0.1:9102/secret", "-receive-mode", "manual"},
	} {
		var stderr bytes.Buffer
		err := run(t.Context(), append(args, "-listen", "127.0.0.1:0"), io.Discard, &stderr)
		if err == nil || errors.Is(err, flag.ErrHelp) || !strings.Contains(err.Error(), "-webhook") {
			t.Errorf("%v: %v", args, err)
		} else if strings.Contains(err.Error()+stderr.String(), "secret") {
			t.Errorf("the address is shown: %v %s", err, &stderr)
		}
	}
}

// The address holds the webhook's secret.
func TestTheWebhooksAddressIsNotLogged(t *testing.T) {
	var stderr bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	lines, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-listen", "127.0.0.1:0", "-chatter", "1ms", "-webhook", "http://127.0.0.1:1/secret"}, out, &stderr)
	}()
	url := make([]byte, 256)
	n, err := lines.Read(url)
	if err != nil {
		t.Fatal(err)
	}
	s := &sim{t: t, url: strings.TrimSpace(strings.TrimPrefix(string(url[:n]), "rest ")), client: &http.Client{}}
	s.until("lost", func(v stats) bool { return v.Dropped["webhook"] > 0 })
	s.client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text := stderr.String(); !strings.Contains(text, "webhook") || strings.Contains(text, "secret") {
		t.Errorf("logged %s", text)
	}
}
