package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.opentelemetry.io/otel/metric/noop"

	"quartet/kit/journal/disk"
	"quartet/kit/timing"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/config"
)

const (
	number = "+15550100000"
	group  = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	admin  = "00000000-aaaa-4000-8000-000000000001"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// signalServer is a signal-cli-rest-api.
type signalServer struct {
	*httptest.Server
	t      *testing.T
	frames chan string
	sent   chan string // texts
	clock  int64       // of who writes

	mu       sync.Mutex
	accounts []string // guarded by mu, as all below
	calls    []string // everything else that was asked
	linked   string   // the account that a scanned code brings
}

func newSignalServer(t *testing.T) *signalServer {
	s := &signalServer{t: t, frames: make(chan string, 1000), sent: make(chan string, 1000), accounts: []string{number}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *signalServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v1/about":
		fmt.Fprint(w, `{"mode":"json-rpc","version":"0.100"}`)
	case r.URL.Path == "/v1/accounts":
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(s.accounts)
	case strings.HasPrefix(r.URL.Path, "/v1/receive/"):
		s.receive(w, r)
	case r.URL.Path == "/v2/send":
		var m struct{ Message string }
		_ = json.NewDecoder(r.Body).Decode(&m)
		s.sent <- m.Message
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"timestamp":"1"}`)
	case r.URL.Path == "/v1/qrcodelink/raw":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.accounts = append(s.accounts, s.linked) // somebody is quick
		fmt.Fprintf(w, `{"device_link_uri":"sgnl://linkdevice?uuid=u&pub_key=k&as=%s"}`, r.URL.Query().Get("device_name"))
	default:
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, body))
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *signalServer) receive(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.CloseNow()
	ctx := c.CloseRead(r.Context())
	for {
		select {
		case f := <-s.frames:
			if c.Write(ctx, websocket.MessageText, []byte(f)) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// ask has somebody write text into the group, or alone, and returns the answer.
func (s *signalServer) ask(who, in, text string) string {
	s.t.Helper()
	s.say(who, in, text)
	select {
	case answer := <-s.sent:
		return answer
	case <-time.After(patience):
		s.t.Fatalf("no answer to %s", text)
		return ""
	}
}

func (s *signalServer) say(who, in, text string) {
	s.clock++
	data := map[string]any{"message": text}
	if in != "" {
		data["groupInfo"] = map[string]any{"groupId": in, "groupName": "Rodzinka", "type": "DELIVER"}
	}
	raw, err := json.Marshal(map[string]any{"account": number, "envelope": map[string]any{
		"sourceUuid": who, "sourceName": "Halinka", "timestamp": s.clock, "dataMessage": data,
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.frames <- string(raw)
}

// logBuffer is stderr.
type logBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer // guarded by mu
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *logBuffer) await(t *testing.T, n int, part string) {
	t.Helper()
	for deadline := time.Now().Add(patience); strings.Count(l.String(), part) < n; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not %d times in the log:\n%s", part, n, l)
		}
	}
}

// startBot runs the bot against a server until the test ends, and returns its log
// and what stops it.
func startBot(t *testing.T, s *signalServer, environ ...string) (*logBuffer, func()) {
	t.Helper()
	log := &logBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	environ = append([]string{
		"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=" + s.URL, "BOTD_ADMIN_ADDR=127.0.0.1:0", "BOTD_LOG_LEVEL=DEBUG",
		"BOTD_ADMINS=" + admin, "BOTD_GROUPS=" + group, "BOTD_COOLDOWN=0s", "BOTD_CAT_POOL=0", "BOTD_USER_AGENT=test (me@example.org)",
	}, environ...)
	go func() { ended <- run(ctx, nil, environ, io.Discard, log) }()
	stop := sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the bot ended with %v\n%s", err, log)
			}
		case <-time.After(patience):
			t.Error("the bot did not end")
		}
	})
	t.Cleanup(stop)
	for deadline := time.Now().Add(patience); !strings.Contains(log.String(), `"msg":"receiving"`); time.Sleep(2 * time.Millisecond) {
		if len(ended) > 0 || time.Now().After(deadline) {
			t.Fatal("the bot did not start")
		}
	}
	return log, stop
}

// newWeb serves h and returns its host and port.
func newWeb(t *testing.T, h http.Handler) string {
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return web.Listener.Addr().String()
}

// startWaiter puts the bot together as the program does, without commands of its
// operator's, and runs it.
func startWaiter(t *testing.T, s *signalServer, log io.Writer) (*waiter, func()) {
	t.Helper()
	cfg, err := config.Parse([]string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=" + s.URL, "BOTD_CAT_POOL=0"})
	if err != nil {
		t.Fatal(err)
	}
	in, err := timing.New(noop.NewMeterProvider(), nil)
	if err != nil {
		t.Fatal(err)
	}
	counters, err := bot.NewCounters(noop.NewMeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := openState(disk.OS{}, cfg, in)
	if err != nil {
		t.Fatal(err)
	}
	link, err := openSignal(cfg, in, counters, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w, err := build(cfg, link, kept, in, counters, slog.New(slog.NewJSONHandler(log, nil)), false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.bot.Run(ctx) }()
	return w, func() {
		cancel()
		if err := errors.Join(<-ended, kept.close(), link.close()); err != nil {
			t.Error(err)
		}
	}
}
