package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const bounds = 20 * time.Second // for what should take milliseconds

// bus starts a message bus, which is dbus-daemon, at a path.
func bus(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cmd := exec.Command(program, "--session", "--nofork", "--nopidfile", "--print-address", "--address=unix:path="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("no bus came up")
	}
	return cmd
}

type sim struct {
	t   *testing.T
	url string
}

// start runs the real command on a free port until the test ends.
func start(t *testing.T, args ...string) *sim {
	t.Helper()
	reader, writer := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, append([]string{"-listen", "127.0.0.1:0", "-every", "2ms"}, args...), writer, io.Discard)
		_ = writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	if !lines.Scan() {
		stop()
		t.Fatalf("the simulator ended: %v", <-ended)
	}
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the simulator ended with %v", err)
			}
		case <-time.After(bounds):
			t.Error("the simulator does not stop")
		}
	})
	return &sim{t, strings.TrimPrefix(lines.Text(), "control ")}
}

func (s *sim) stats() map[string]int64 {
	s.t.Helper()
	stats := map[string]int64{}
	res, err := http.Get(s.url + "/_sim/stats")
	if err == nil {
		err = errors.Join(json.NewDecoder(res.Body).Decode(&stats), res.Body.Close())
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return stats
}

func (s *sim) do(method, path, body string) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// until waits for what the statistics must come to say.
func (s *sim) until(what string, ok func(map[string]int64) bool) {
	s.t.Helper()
	for deadline := time.Now().Add(bounds); ; time.Sleep(10 * time.Millisecond) {
		stats := s.stats()
		if ok(stats) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s: %v", what, stats)
		}
	}
}

func socket(t *testing.T) (path, address string) {
	dir, err := os.MkdirTemp("", "simbus-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "bus")
	return path, "unix:path=" + path
}

func TestListenersHearAndCallTheStation(t *testing.T) {
	path, address := socket(t)
	bus(t, path)
	s := start(t, "-bus", address)
	s.until("all is heard", func(n map[string]int64) bool {
		return n["connected"] == 5 && n["received"] > 100 && n["changes_seen"] > 10 && n["calls"] > 10 && n["calls"] <= n["answered"]
	})
	if n := s.stats(); n["calls_failed"] != 0 || n["published"] == 0 || n["changed"] == 0 {
		t.Errorf("%v", n)
	}
	if code := s.do("GET", "/_sim/health", ""); code != http.StatusNoContent {
		t.Errorf("health: %d", code)
	}
	before := s.stats()["published"]
	if code := s.do("POST", "/_sim/burst?count=5000", ""); code != http.StatusAccepted {
		t.Errorf("burst: %d", code)
	}
	s.until("the burst is out", func(n map[string]int64) bool { return n["published"] >= before+5000 })
	if code := s.do("POST", "/_sim/burst?count=-1", ""); code != http.StatusBadRequest {
		t.Errorf("burst of less than nothing: %d", code)
	}
	if code := s.do("POST", "/_sim/reset", ""); code != http.StatusNoContent || s.stats()["published"] > before {
		t.Errorf("reset: %d, %v", code, s.stats())
	}
}

func TestTheyMisbehaveOnDemand(t *testing.T) {
	path, address := socket(t)
	bus(t, path)
	s := start(t, "-bus", address, "-quirks", "call_fail=3,unknown=2")
	s.until("five calls have failed", func(n map[string]int64) bool { return n["calls_failed"] == 5 && n["calls"] > 5 })
	if code := s.do("PUT", "/_sim/quirks", `{"nonsense":2,"stall":1,"stall_for":"100ms"}`); code != http.StatusOK {
		t.Fatalf("quirks: %d", code)
	}
	s.until("three strangers came", func(n map[string]int64) bool { return n["strangers"] == 3 })
	if n := s.stats(); n["connects"] != 5 {
		t.Errorf("strangers cost others their connection: %v", n)
	}
}

func TestABusThatComesBackIsFound(t *testing.T) {
	path, address := socket(t)
	s := start(t, "-bus", address)
	if code := s.do("GET", "/_sim/health", ""); code != http.StatusServiceUnavailable {
		t.Errorf("health without a bus: %d", code)
	}
	first := bus(t, path)
	s.until("all are there", func(n map[string]int64) bool { return n["connected"] == 5 })
	if err := errors.Join(first.Process.Kill(), func() error { first.Wait(); return os.Remove(path) }()); err != nil {
		t.Fatal(err)
	}
	s.until("all are gone", func(n map[string]int64) bool { return n["connected"] == 0 })
	bus(t, path)
	s.until("all are back", func(n map[string]int64) bool { return n["connected"] == 5 && n["connects"] == 10 })
}

func TestRolesMayRunApart(t *testing.T) {
	path, address := socket(t)
	bus(t, path)
	station := start(t, "-bus", address, "-roles", "station")
	crowd := start(t, "-bus", address, "-roles", "listeners", "-listeners", "2")
	crowd.until("they hear the other program", func(n map[string]int64) bool { return n["connected"] == 2 && n["received"] > 0 && n["calls"] > 0 })
	station.until("it answers", func(n map[string]int64) bool { return n["connected"] == 1 && n["answered"] > 0 })
}

func TestWrongCommandLinesAreRefused(t *testing.T) {
	for _, args := range [][]string{
		nil, {"-bus", "x", "y"}, {"-bus", "x", "-roles", "king"}, {"-bus", "x", "-listeners", "0"}, {"-bus", "x", "-every", "0s"},
		{"-bus", "x", "-quirks", "nothing"}, {"-bus", "x", "-latency", "nothing=1s"}, {"-bus", "x", "-listen", "0.0.0.0:0"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	if err := run(t.Context(), []string{"healthcheck", "http://127.0.0.1:1/"}, io.Discard, io.Discard); err == nil {
		t.Error("nobody is healthy")
	}
}
