package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quartet/kit/journal/disk"
	"quartet/services/botd/internal/store"
)

var update = flag.Bool("update", false, "rewrite docs/config.md and testdata")

func runBotd(t *testing.T, environ []string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	err = run(t.Context(), args, environ, &out, &errs)
	return out.String(), errs.String(), err
}

// What operators read must be what the program reads.
func TestConfigPageIsCurrent(t *testing.T) {
	table, _, err := runBotd(t, nil, "env", "--markdown")
	if err != nil {
		t.Fatal(err)
	}
	want := "# Configuration of botd\n\nMade by `botd env --markdown`; after a change run\n`go test ./services/botd/cmd/botd -update`.\n\n" + table
	const page = "../../docs/config.md"
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("docs/config.md is not what botd env --markdown prints (%v); run this test with -update", err)
	}
}

func TestEnvNamesEveryVariable(t *testing.T) {
	table, _, err := runBotd(t, nil, "env")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"BOTD_NUMBER", "BOTD_LIMIT", "BOTD_SIGNAL_URL", "BOTD_SELFTEST_GROUP", "BOTD_CAT_KEY_FILE"} {
		if !strings.Contains(table, name) {
			t.Errorf("%s is missing in:\n%s", name, table)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{"serv"}, {"env", "--json"}, {"version", "1"}, {"latency"}, {"latency", "a", "b"}, {"latency", "--times", "0", "a"}, {"latency", "a", "--tims=3"}, {"latency", "http://"}, {"latency", "a", "--picture", "--text=!ja"},
	} {
		out, errs, err := runBotd(t, nil, args...)
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "help") || out+errs != "" {
			t.Errorf("botd %v: error %v, want wrong usage and where to read on; printed %q", args, err, out+errs)
		}
	}
}

func TestHelpIsNoError(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}} {
		if out, _, err := runBotd(t, nil, args...); err != nil || !strings.Contains(out, "botd latency TARGET") {
			t.Errorf("botd %v: %v, printed %q", args, err, out)
		}
	}
	if out, _, err := runBotd(t, nil, "latency", "--help"); err != nil || !strings.Contains(out, "BOTD_SELFTEST_GROUP") || !strings.Contains(out, "-times") {
		t.Errorf("botd latency --help: %v, printed %q", err, out)
	}
}

func TestWrongConfigurationIsWrongUsage(t *testing.T) {
	if _, _, err := runBotd(t, []string{"BOTD_LIMIT=none"}); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "BOTD_LIMIT") {
		t.Errorf("error %v", err)
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "zipkin")
	if _, _, err := runBotd(t, []string{"BOTD_NUMBER=+15550100000", "BOTD_ADMIN_ADDR=127.0.0.1:0"}); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "OTEL_TRACES_EXPORTER") {
		t.Errorf("error %v", err)
	}
}

// What cannot be opened at start is named by its variable, and nothing stays
// open: the next start finds the folder free.
func TestStartThatFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	state := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"BOTD_NUMBER=+15550100000", "BOTD_ADMIN_ADDR=127.0.0.1:0"}
	for _, tt := range []struct {
		set  []string
		says string
	}{
		{[]string{"BOTD_STATE_DIR=" + state, "BOTD_WEBHOOK_ADDR=" + taken.Addr().String()}, "BOTD_WEBHOOK_ADDR"},
		{[]string{"BOTD_STATE_DIR=" + state, "BOTD_SIGNAL_URL=tcp://127.0.0.1:1", "BOTD_SPOOL_DIR=" + file}, "BOTD_SPOOL_DIR"},
		{[]string{"BOTD_STATE_DIR=" + file}, "BOTD_STATE_DIR"},
	} {
		if _, _, err := runBotd(t, append(tt.set, environ...)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("with %v: %v", tt.set, err)
		}
	}
	if _, _, err := runBotd(t, []string{environ[0], "BOTD_ADMIN_ADDR=" + taken.Addr().String()}); err == nil || !strings.Contains(err.Error(), "BOTD_ADMIN_ADDR") {
		t.Errorf("with an address that is taken: %v", err)
	}
	first := store.New(disk.OS{}, store.Options{Dir: state})
	if err := first.Open(); err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, _, err := runBotd(t, append([]string{"BOTD_STATE_DIR=" + state}, environ...)); !errors.Is(err, disk.ErrLocked) || !strings.Contains(err.Error(), "BOTD_STATE_DIR") {
		t.Errorf("a folder that another bot uses: %v", err)
	}
}

// bot answers self-tests with the given own time.
func fakeBot(t *testing.T, ownMs float64) (address string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		*asked = append(*asked, body.Text)
		fmt.Fprintf(w, `{"outcome":"ok","timing":{"own_ms":%v,"send_ms":2648}}`, ownMs)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), asked
}

func TestLatencyIsOverBudgetAbove100ms(t *testing.T) {
	address, _ := fakeBot(t, 100)
	if out, _, err := runBotd(t, nil, "latency", address, "--times", "2"); err != nil {
		t.Errorf("at the budget: %v\n%s", err, out)
	}
	address, _ = fakeBot(t, 100.001)
	if out, _, err := runBotd(t, nil, "latency", address, "--times", "2"); !errors.Is(err, errOverBudget) || !strings.Contains(out, "over budget") {
		t.Errorf("over the budget: %v\n%s", err, out)
	}
}

// Flags may stand before and behind TARGET, as people type them.
func TestLatencyTakesFlagsAnywhere(t *testing.T) {
	address, asked := fakeBot(t, 1)
	for _, tt := range []struct {
		args  []string
		text  string
		times int
	}{
		{[]string{address}, "!pomoc", 20},
		{[]string{address, "--text", "!ja", "--times", "3"}, "!ja", 3},
		{[]string{"--times=2", address, "--picture"}, "!kot", 2},
		{[]string{"-text=!ja", "http://" + address, "-times=1", "--json"}, "!ja", 1},
	} {
		*asked = nil
		if out, _, err := runBotd(t, nil, append([]string{"latency"}, tt.args...)...); err != nil {
			t.Errorf("%v: %v\n%s", tt.args, err, out)
		}
		if len(*asked) != tt.times || (*asked)[0] != tt.text {
			t.Errorf("%v: asked %d times, %q", tt.args, len(*asked), *asked)
		}
	}
}

func TestLatencySaysWhyItCannotMeasure(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for address, says := range map[string]string{"http://127.0.0.1:1": "BOTD_ADMIN_ADDR", other.URL: "HTTP status 404"} {
		out, _, err := runBotd(t, nil, "latency", address)
		if err == nil || errors.Is(err, errUsage) || !strings.Contains(err.Error(), says) || strings.Count(err.Error(), address) != 1 {
			t.Errorf("%s: error %v, want one that says %q", address, err, says)
		}
		if out != "" {
			t.Errorf("%s: printed %q", address, out)
		}
	}
}

func TestLatencyStopsWhenItIsTold(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the server see that the client has gone
		if asked++; asked == 3 {
			cancel(errors.New("interrupt signal received"))
			<-r.Context().Done()
		}
		fmt.Fprint(w, `{"outcome":"ok","timing":{"own_ms":1}}`)
	}))
	defer s.Close()
	err := run(ctx, []string{"latency", s.URL}, nil, io.Discard, io.Discard)
	if err == nil || err.Error() != "stopped after 2 of 20 replies: interrupt signal received" {
		t.Errorf("error %v", err)
	}
}

// A server that sends more than it was asked for, what somebody wrote perhaps, is not
// quoted anywhere.
func TestWhatNobodyAskedForIsNotShown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	left := make(chan struct{})
	go func() {
		defer close(left)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]5ecre7")
			_, _ = io.Copy(io.Discard, c) // the client hangs up when it has seen that
		}
	}()
	var log bytes.Buffer // read after the client's end of the connection is closed
	stdlog.SetOutput(&log)
	defer stdlog.SetOutput(os.Stderr)
	out, errs, err := runBotd(t, []string{"BOTD_NUMBER=+15550100000", "BOTD_SIGNAL_URL=http://" + l.Addr().String()}, "check", "--connect")
	<-left
	if said := fmt.Sprint(out, errs, err, log.String()); strings.Contains(said, "5ecre7") {
		t.Errorf("it says %s", said)
	}
}
