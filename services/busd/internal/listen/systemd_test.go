package listen_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/listen"
)

// firstFD is where the inherited sockets of these tests begin, far from what
// the test program itself has open.
const firstFD = 700

// inherit puts sockets where a service manager would, as it would: blocking
// and without close-on-exec.
func inherit(t *testing.T, fds ...int) listen.Options {
	t.Helper()
	for i, fd := range fds {
		if err := unix.SetNonblock(fd, false); err != nil {
			t.Fatal(err)
		}
		if err := unix.Dup2(fd, firstFD+i); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(firstFD + i) })
	}
	return listen.Options{
		Getenv:  environment("LISTEN_PID", "42", "LISTEN_FDS", strconv.Itoa(len(fds))),
		PID:     42,
		FirstFD: firstFD,
	}
}

func TestInheritedSockets(t *testing.T) {
	path := filepath.Join(tempDir(t), "bus")
	abstract := fmt.Sprintf("listen-inherited-%d", os.Getpid())
	o := inherit(t,
		openOne(t, "unix:path="+path, listen.Options{}).FD,
		openOne(t, "unix:abstract="+abstract, listen.Options{}).FD,
		openOne(t, "tcp:host=127.0.0.1", listen.Options{}).FD)
	listeners := open(t, "systemd:", o)
	want := []string{`^unix:path=` + regexp.QuoteMeta(path) + `$`, `^unix:abstract=` + abstract + `$`, `^tcp:host=127\.0\.0\.1,port=\d+,family=ipv4$`}
	if len(listeners) != len(want) {
		t.Fatalf("%d listeners, want %d", len(listeners), len(want))
	}
	for i, l := range listeners {
		if !regexp.MustCompile(want[i]).MatchString(l.Address) || l.FD != firstFD+i || l.Unix != (i < 2) {
			t.Errorf("listener %+v, want %s at %d", l, want[i], firstFD+i)
		}
		wantFlags(t, l.FD)
		wantReachable(t, l)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the manager's socket was removed: %v", err)
	}
}

func TestNothingInherited(t *testing.T) {
	for name, env := range map[string][]string{
		"no environment": nil,
		"no process":     {"LISTEN_FDS", "1"},
		"no number":      {"LISTEN_PID", "42"},
		"another's":      {"LISTEN_PID", "43", "LISTEN_FDS", "1"},
		"none":           {"LISTEN_PID", "42", "LISTEN_FDS", "0"},
		"negative":       {"LISTEN_PID", "42", "LISTEN_FDS", "-1"},
		"not a number":   {"LISTEN_PID", "42", "LISTEN_FDS", "many"},
		"too many":       {"LISTEN_PID", "42", "LISTEN_FDS", "2147483647"},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, "systemd:", listen.Options{Getenv: environment(env...), PID: 42, FirstFD: firstFD}, "LISTEN_")
		})
	}
}

func TestInheritedMustListen(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	wantError(t, "systemd:", inherit(t, pair[0]), "Accept=no")
}

func TestInheritedMustBeAStream(t *testing.T) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	wantError(t, "systemd:", inherit(t, fd), "ListenStream=")
}

func TestInheritedMustBeASocket(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	wantError(t, "systemd:", inherit(t, int(f.Fd())), "not a socket")
	o := inherit(t)
	o.Getenv = environment("LISTEN_PID", "42", "LISTEN_FDS", "1")
	o.FirstFD = firstFD + 50
	wantError(t, "systemd:", o, "not a socket")
}

func TestVsock(t *testing.T) {
	listeners, err := listen.Open(t.Context(), parse(t, "vsock:")[0], listen.Options{})
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EPERM) {
		t.Skipf("no vsock here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	l := listeners[0]
	defer l.Close()
	if !regexp.MustCompile(`^vsock:cid=\d+,port=\d+$`).MatchString(l.Address) || l.Unix {
		t.Errorf("listener %+v", l)
	}
	wantFlags(t, l.FD)
}

func TestVsockFaults(t *testing.T) {
	wantError(t, "vsock:cid=x", listen.Options{}, "not a number")
	wantError(t, "vsock:port=4294967296", listen.Options{}, "not a number")
}
