package listen_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/listen"
)

func TestTCP(t *testing.T) {
	for text, want := range map[string]string{
		"tcp:host=127.0.0.1":                            `^tcp:host=127\.0\.0\.1,port=[1-9]\d*$`,
		"tcp:host=127.0.0.1,port=0":                     `^tcp:host=127\.0\.0\.1,port=[1-9]\d*$`,
		"tcp:host=127.0.0.1,family=ipv4":                `^tcp:host=127\.0\.0\.1,port=[1-9]\d*,family=ipv4$`,
		"tcp:host=localhost,family=ipv4,port=0":         `^tcp:host=localhost,port=[1-9]\d*,family=ipv4$`,
		"tcp:bind=127.0.0.1,family=ipv4":                `^tcp:host=localhost,port=[1-9]\d*,family=ipv4$`,
		"tcp:host=127.0.0.1,bind=*,family=ipv4":         `^tcp:host=127\.0\.0\.1,port=[1-9]\d*,family=ipv4$`,
		"tcp:host=%31%32%37.0.0.1,bind=%2A,family=ipv4": `^tcp:host=127\.0\.0\.1,port=[1-9]\d*,family=ipv4$`,
	} {
		t.Run(text, func(t *testing.T) {
			l := openOne(t, text, listen.Options{})
			if !regexp.MustCompile(want).MatchString(l.Address) || l.Unix || l.Nonce != nil {
				t.Errorf("listener %+v, want address %s", l, want)
			}
			wantFlags(t, l.FD)
			wantReachable(t, l)
		})
	}
}

func TestAllAddressesOfAHostHaveOnePort(t *testing.T) {
	listeners := open(t, "tcp:host=localhost,bind=*", listen.Options{})
	for _, l := range listeners {
		defer l.Close()
		if l.Address != listeners[0].Address {
			t.Errorf("addresses %s and %s, want one", l.Address, listeners[0].Address)
		}
	}
	a := parse(t, listeners[0].Address)[0]
	port, _ := a.Get("port")
	c, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	unix.Close(accept(t, listeners[0].FD))
}

func TestIPv6(t *testing.T) {
	probe, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	probe.Close()
	l := openOne(t, "tcp:host=%3a%3a1,family=ipv6", listen.Options{})
	if !strings.HasPrefix(l.Address, "tcp:host=%3a%3a1,port=") {
		t.Errorf("address %s", l.Address)
	}
	wantReachable(t, l)
}

func TestConnectionsSendSmallMessagesAtOnce(t *testing.T) {
	l := openOne(t, "tcp:host=127.0.0.1", listen.Options{})
	port, _ := parse(t, l.Address)[0].Get("port")
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	peer := accept(t, l.FD)
	defer unix.Close(peer)
	if on, err := unix.GetsockoptInt(peer, unix.IPPROTO_TCP, unix.TCP_NODELAY); err != nil || on == 0 {
		t.Errorf("TCP_NODELAY is %d, %v, want it inherited", on, err)
	}
}

func TestTCPFaults(t *testing.T) {
	for text, word := range map[string]string{
		"tcp:host=127.0.0.1,port=x":             "not a number",
		"tcp:host=127.0.0.1,port=65536":         "not a number",
		"tcp:host=127.0.0.1,port=-1":            "not a number",
		"tcp:host=127.0.0.1,family=ipx":         "neither ipv4 nor ipv6",
		"tcp:host=127.0.0.1,family=ipv6":        "no address to listen at",
		"tcp:host=%3a%3a1,family=ipv4":          "no address to listen at",
		"tcp:host=203.0.113.7":                  "cannot assign",
		"tcp:host=fe80%3a%3a1%25lo,family=ipv6": "without zone",
		"nonce-tcp:host=127.0.0.1,port=x":       "not a number",
		"nonce-tcp:host=203.0.113.7":            "cannot assign",
		"nonce-tcp:noncefile=/no/where/at/all":  "no such file",
	} {
		t.Run(text, func(t *testing.T) {
			dir := tempDir(t)
			wantError(t, text, listen.Options{Getenv: environment("XDG_RUNTIME_DIR", dir)}, word)
			if names, _ := filepath.Glob(dir + "/*"); len(names) != 0 {
				t.Errorf("%q is left behind", names)
			}
		})
	}
}

func TestPortInUseIsAnError(t *testing.T) {
	l := openOne(t, "tcp:host=127.0.0.1", listen.Options{})
	wantError(t, l.Address, listen.Options{}, "in use")
}

func TestResolutionCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := listen.Open(ctx, parse(t, "tcp:host=no-such-host.invalid")[0], listen.Options{}); err == nil {
		t.Error("no error")
	}
}

func TestNonceIsInAFileOfItsOwn(t *testing.T) {
	dir := tempDir(t)
	o := listen.Options{Getenv: environment("XDG_RUNTIME_DIR", dir)}
	l := openOne(t, "nonce-tcp:host=127.0.0.1", o)
	path, found := parse(t, l.Address)[0].Get("noncefile")
	if !found || !strings.HasPrefix(path, dir+"/dbus-nonce-") || !strings.HasPrefix(l.Address, "nonce-tcp:host=127.0.0.1,port=") {
		t.Fatalf("address %s", l.Address)
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(text, l.Nonce) || len(text) != 16 {
		t.Errorf("file %x, %v, nonce %x, want 16 equal bytes", text, err, l.Nonce)
	}
	for path, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): os.ModeDir | 0o700} {
		if st, err := os.Lstat(path); err != nil || st.Mode() != want {
			t.Errorf("%s has mode %v, %v, want %v", path, st.Mode(), err, want)
		}
	}
	wantReachable(t, l)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wantGone(t, filepath.Dir(path))
}

func TestNoncesDiffer(t *testing.T) {
	o := listen.Options{Getenv: environment("TMPDIR", tempDir(t))}
	a, b := openOne(t, "nonce-tcp:host=127.0.0.1", o), openOne(t, "nonce-tcp:host=127.0.0.1", o)
	if bytes.Equal(a.Nonce, b.Nonce) || bytes.Equal(a.Nonce, make([]byte, 16)) {
		t.Errorf("nonces %x and %x", a.Nonce, b.Nonce)
	}
}

func TestNoncefileIsMadeWhereItIsWanted(t *testing.T) {
	path := filepath.Join(tempDir(t), "nonce")
	text := "nonce-tcp:host=127.0.0.1,noncefile=" + path
	l := openOne(t, text, listen.Options{})
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, l.Nonce) {
		t.Errorf("file %x, %v, nonce %x", got, err, l.Nonce)
	}
	wantError(t, text, listen.Options{}, "file exists")
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, l.Nonce) {
		t.Errorf("after another has tried: file %x, %v, nonce %x", got, err, l.Nonce)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wantGone(t, path)
}

func TestNoncefileFollowsNoLink(t *testing.T) {
	dir := tempDir(t)
	if err := os.Symlink(dir+"/target", dir+"/nonce"); err != nil {
		t.Fatal(err)
	}
	wantError(t, "nonce-tcp:host=127.0.0.1,noncefile="+dir+"/nonce", listen.Options{}, "file exists")
	wantGone(t, dir+"/target")
}
