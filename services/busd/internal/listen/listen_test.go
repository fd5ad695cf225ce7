package listen_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/address"
	"quartet/services/busd/internal/listen"
)

// tempDir is a directory with a path short enough for sockets.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "listen-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func parse(t *testing.T, text string) []address.Address {
	t.Helper()
	list, err := address.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func open(t *testing.T, text string, o listen.Options) []*listen.Listener {
	t.Helper()
	listeners, err := listen.Open(t.Context(), parse(t, text)[0], o)
	if err != nil {
		t.Fatal(err)
	}
	if len(listeners) == 0 {
		t.Fatalf("%s: no listener and no error", text)
	}
	return listeners
}

// openOne opens an address that has one socket, and closes it in the end.
func openOne(t *testing.T, text string, o listen.Options) *listen.Listener {
	t.Helper()
	listeners := open(t, text, o)
	if len(listeners) != 1 {
		t.Fatalf("%s: %d listeners, want 1", text, len(listeners))
	}
	t.Cleanup(func() {
		if err := listeners[0].Close(); err != nil && !errors.Is(err, unix.EBADF) {
			t.Error(err)
		}
	})
	return listeners[0]
}

func wantError(t *testing.T, text string, o listen.Options, word string) {
	t.Helper()
	listeners, err := listen.Open(t.Context(), parse(t, text)[0], o)
	if err == nil || listeners != nil || !strings.Contains(err.Error(), word) {
		t.Errorf("Open(%s) = %v, %v, want an error about %q", text, listeners, err, word)
	}
}

// accept takes a connection, for which it waits a while.
func accept(t *testing.T, fd int) int {
	t.Helper()
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, 5000); n != 1 {
		t.Fatalf("nobody connects: %v", err)
	}
	peer, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	return peer
}

// wantReachable connects to the address of a listener as a client would,
// and sends a byte over the connection.
func wantReachable(t *testing.T, l *listen.Listener) {
	t.Helper()
	a := parse(t, l.Address)[0]
	network, target := "unix", ""
	if path, found := a.Get("path"); found {
		target = path
	} else if name, found := a.Get("abstract"); found {
		target = "@" + name
	} else {
		host, _ := a.Get("host")
		port, _ := a.Get("port")
		network, target = "tcp", net.JoinHostPort(host, port)
	}
	c, err := net.DialTimeout(network, target, 5*time.Second)
	if err != nil {
		t.Fatalf("connect to %s: %v", l.Address, err)
	}
	defer c.Close()
	peer := accept(t, l.FD)
	f := os.NewFile(uintptr(peer), "peer")
	defer f.Close()
	if _, err := c.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(f, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

func wantFlags(t *testing.T, fd int) {
	t.Helper()
	status, err1 := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	descriptor, err2 := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err1 != nil || err2 != nil || status&unix.O_NONBLOCK == 0 || descriptor&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x and %#x (%v, %v), want non-blocking and close-on-exec", status, descriptor, err1, err2)
	}
}

func wantGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", path, err)
	}
}

func TestUnknownTransportsAreErrors(t *testing.T) {
	for _, text := range []string{"unixexec:path=/bin/cat", "launchd:env=X", "autolaunch:", "UNIX:path=/tmp/x"} {
		wantError(t, text, listen.Options{}, "transport")
	}
}

func TestUnknownKeysAreErrors(t *testing.T) {
	for _, text := range []string{
		"unix:path=/tmp/x,mode=0700", "tcp:host=127.0.0.1,prot=1", "tcp:noncefile=/tmp/n", "systemd:fd=3", "vsock:host=2",
	} {
		wantError(t, text, listen.Options{}, "takes no key")
	}
}

func TestFirstAddressThatWorksIsOpened(t *testing.T) {
	dir := tempDir(t)
	list := parse(t, "unix:runtime=yes;unix:dir="+dir+"/missing;unix:dir="+dir+";unix:dir="+dir)
	listeners, err := listen.OpenFirst(t.Context(), list, listen.Options{})
	if err != nil || len(listeners) != 1 {
		t.Fatalf("OpenFirst: %d listeners, %v, want 1", len(listeners), err)
	}
	wantReachable(t, listeners[0])
	if err := listeners[0].Close(); err != nil {
		t.Error(err)
	}
}

func TestReasonsOfAllAddressesAreTold(t *testing.T) {
	listeners, err := listen.OpenFirst(t.Context(), parse(t, "unix:runtime=yes;cat:"), listen.Options{})
	if listeners != nil || err == nil || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") || !strings.Contains(err.Error(), `"cat"`) {
		t.Errorf("OpenFirst: %v, %v", listeners, err)
	}
	if listeners, err := listen.OpenFirst(t.Context(), nil, listen.Options{}); listeners != nil || err == nil {
		t.Errorf("OpenFirst without addresses: %v, %v", listeners, err)
	}
}

// What is wrong on every machine is known before a socket is opened, and what
// only this one lacks is not.
func TestFaultsOfAddressesAreFoundWithoutOpening(t *testing.T) {
	for text, says := range map[string]string{
		"unix:path=/tmp/x,foo=bar":             `takes no key "foo"`,
		"unix:path=/tmp/x,dir=/tmp":            "both path and dir",
		"unix:guid=00":                         "give one of",
		"unix:runtime=no":                      "only be yes",
		"launchd:env=X":                        `"launchd" is unknown`,
		"tcp:noncefile=/tmp/n":                 `takes no key "noncefile"`,
		"tcp:port=70000":                       "port",
		"nonce-tcp:family=ipv5":                "family",
		"systemd:fd=3":                         "takes no key",
		"vsock:port=x":                         "port",
		"unix:path=/tmp/x,foo=bar;autolaunch:": `"autolaunch" is unknown`,

		"unix:path=/no-such-directory/x":               "",
		"unix:runtime=yes":                             "",
		"systemd:":                                     "",
		"tcp:host=no-such-host.invalid,port=0":         "",
		"nonce-tcp:bind=*,noncefile=/no-such-dir/n":    "",
		"vsock:cid=1,port=1":                           "",
		"launchd:env=X;unix:path=/no-such-directory/x": "",
	} {
		err := listen.CheckFirst(parse(t, text))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
		if listeners, opening := listen.OpenFirst(t.Context(), parse(t, text), listen.Options{}); err != nil && (listeners != nil || opening.Error() != err.Error()) {
			t.Errorf("%s: opened %v, %v, want %v", text, listeners, opening, err)
		}
	}
}

func TestGUIDOfAnAddressIsNotPassedOn(t *testing.T) {
	path := filepath.Join(tempDir(t), "bus")
	l := openOne(t, "unix:path="+path+",guid=00112233445566778899aabbccddeeff", listen.Options{})
	if l.Address != "unix:path="+path {
		t.Errorf("address %s", l.Address)
	}
}
