package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The unit in deploy/systemd counts on what the program tells systemd, in this
// order: not ready while Signal's server does not know the account, ready once
// it does, alive, stopping.
func TestSystemdIsTold(t *testing.T) {
	dir, err := os.MkdirTemp("", "botd") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "200000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))

	signal := newSignalServer(t)
	signal.mu.Lock()
	signal.accounts = nil
	signal.mu.Unlock()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, nil, []string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=" + signal.URL, "BOTD_CAT_POOL=0", "BOTD_ADMIN_ADDR=127.0.0.1:0"}, new(bytes.Buffer), new(bytes.Buffer))
	}()
	heard := func(until string) (all string) {
		t.Helper()
		buf := make([]byte, 4096)
		for !strings.Contains(all, until) {
			if err := systemd.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			n, err := systemd.Read(buf)
			if err != nil {
				t.Fatalf("waiting for %s: %v after\n%s", until, err, all)
			}
			all += string(buf[:n]) + "\n"
		}
		return all
	}
	if all := heard("is not among"); strings.Contains(all, "READY=1") || !strings.Contains(all, "EXTEND_TIMEOUT_USEC=") {
		t.Errorf("without the account:\n%s", all)
	}
	signal.mu.Lock()
	signal.accounts = []string{number}
	signal.mu.Unlock()
	heard("READY=1")
	if all := heard("WATCHDOG=1"); strings.Contains(all, "READY=1") {
		t.Errorf("ready twice:\n%s", all)
	}
	stop()
	if all := heard("STOPPING=1"); !strings.Contains(all, "EXTEND_TIMEOUT_USEC=35000000") {
		t.Errorf("no time for the drain:\n%s", all)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
