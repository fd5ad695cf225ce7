package stack

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// StartBusUnit starts busd as systemd would by a unit of deploy/systemd: with its
// command line, what it and busd.env set or suggest, and the socket handed in. It
// returns when the bus has told that it is ready. Where the configuration that
// the unit names is missing the test is skipped, but not in CI.
func StartBusUnit(t testing.TB, unit, config string) *Bus {
	t.Helper()
	if _, err := os.Stat(config); err != nil {
		lack(t, err)
	}
	dir := filepath.Join(Root(), "deploy", "systemd")
	text := read(t, filepath.Join(dir, unit))
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/busd (.*)$`).FindStringSubmatch(text)
	if command == nil {
		t.Fatalf("%s starts no busd:\n%s", unit, text)
	}
	var env []string
	for _, set := range regexp.MustCompile(`(?m)^(?:Environment=|#?)(BUSD_[A-Z_]+=.*)$`).FindAllStringSubmatch(text+read(t, filepath.Join(dir, "busd.env")), -1) {
		env = append(env, set[1])
	}
	b := &Bus{Socket: filepath.Join(shortDir(t), "bus")}
	b.Address = "unix:path=" + b.Socket
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.Socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	listener.SetUnlinkOnClose(false) // it is systemd's, and stays
	file, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: b.Socket + ".notify", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { told.Close() })
	env = append(env, "LISTEN_FDS=1", "NOTIFY_SOCKET="+b.Socket+".notify")
	// systemd knows the process's number before it is the program; so does a shell.
	b.Process = launch(t, unit, env, "/bin/sh", []*os.File{file}, append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, Program(t, "busd")}, strings.Fields(command[1])...)...)
	if err := told.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for {
		n, err := told.Read(buf)
		if err != nil {
			t.Fatal(errors.Join(err, errors.New(unit+" never told that it is ready: "+b.Log())))
		}
		if strings.Contains(string(buf[:n]), "READY=1") {
			return b
		}
	}
}

func read(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
