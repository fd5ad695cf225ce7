package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"quartet/services/busd/internal/daemon"
)

// actAs makes the test's binary the program under test.
const actAs = "TEST_ACTS_AS_BUSD"

// patience bounds whatever should take a moment.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	if code, is := daemon.Helper(); is {
		os.Exit(code)
	}
	if os.Getenv(actAs) != "" {
		main()
	}
	os.Exit(m.Run())
}

// What was counted since the last export, which is a minute or a short life of a
// bus, is exported when it stops.
func TestTheLastCountsAreExported(t *testing.T) {
	exported := make(chan string, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil && strings.HasSuffix(r.URL.Path, "/metrics") {
			exported <- string(body)
		}
	}))
	t.Cleanup(collector.Close)
	dir, err := os.MkdirTemp("", "busd") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd := exec.Command(os.Args[0], "--standalone", "--nofork", "--print-address", "--address=unix:path="+filepath.Join(dir, "s"))
	cmd.Env = append(os.Environ(), actAs+"=yes", "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_COMPRESSION=none")
	var said bytes.Buffer
	cmd.Stderr = &said
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("no address: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || said.Len() > 0 {
		t.Errorf("it ended with %v and said\n%s", err, said.String())
	}
	select {
	case body := <-exported:
		if !strings.Contains(body, "quartet.busd.turns") {
			t.Error("what was exported has no turns of the bus")
		}
	default:
		t.Error("nothing was exported")
	}
}
