package listen_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/listen"
)

func TestPath(t *testing.T) {
	path := filepath.Join(tempDir(t), "a bus")
	l := openOne(t, "unix:path="+strings.ReplaceAll(path, " ", "%20"), listen.Options{})
	if want := "unix:path=" + strings.ReplaceAll(path, " ", "%20"); l.Address != want || !l.Unix || l.Nonce != nil {
		t.Errorf("listener %+v, want address %s", l, want)
	}
	if st, err := os.Lstat(path); err != nil || st.Mode() != os.ModeSocket|0o777 {
		t.Errorf("mode %v, %v, want a socket with 0777", st.Mode(), err)
	}
	wantFlags(t, l.FD)
	wantReachable(t, l)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wantGone(t, path)
}

func TestRelativePathIsMadeAbsolute(t *testing.T) {
	dir := tempDir(t)
	t.Chdir(dir)
	l := openOne(t, "unix:path=bus", listen.Options{})
	t.Chdir("/")
	wantReachable(t, l)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wantGone(t, filepath.Join(dir, "bus"))
}

func TestDirAndTmpdirHaveRandomNames(t *testing.T) {
	dir := tempDir(t)
	seen := map[string]bool{}
	for _, key := range []string{"dir", "dir", "tmpdir"} {
		l := openOne(t, "unix:"+key+"="+dir, listen.Options{})
		if want := regexp.MustCompile(`^unix:path=` + regexp.QuoteMeta(dir) + `/dbus-[A-Z0-9]{10}$`); !want.MatchString(l.Address) || seen[l.Address] {
			t.Errorf("%s: address %s, want a new one like %s", key, l.Address, want)
		}
		seen[l.Address] = true
		wantReachable(t, l)
	}
}

func TestMissingDirectoryIsAnError(t *testing.T) {
	dir := tempDir(t)
	wantError(t, "unix:dir="+dir+"/no", listen.Options{}, "no such file")
	wantError(t, "unix:path="+dir+"/no/bus", listen.Options{}, "no such file")
}

func TestRuntime(t *testing.T) {
	dir := tempDir(t)
	o := listen.Options{Getenv: environment("XDG_RUNTIME_DIR", dir)}
	l := openOne(t, "unix:runtime=yes", o)
	if l.Address != "unix:path="+dir+"/bus" {
		t.Errorf("address %s", l.Address)
	}
	wantReachable(t, l)
	wantError(t, "unix:runtime=no", o, "only be yes")
	wantError(t, "unix:runtime=yes", listen.Options{}, "XDG_RUNTIME_DIR")
	wantError(t, "unix:runtime=yes", listen.Options{Getenv: environment("XDG_RUNTIME_DIR", "run")}, "XDG_RUNTIME_DIR")
}

func TestAbstract(t *testing.T) {
	name := fmt.Sprintf("/tmp/listen test-%d", os.Getpid())
	l := openOne(t, "unix:abstract="+strings.ReplaceAll(name, " ", "%20"), listen.Options{})
	if want := "unix:abstract=" + strings.ReplaceAll(name, " ", "%20"); l.Address != want || !l.Unix {
		t.Errorf("listener %+v, want address %s", l, want)
	}
	wantFlags(t, l.FD)
	wantReachable(t, l)
	wantGone(t, name)
	wantError(t, "unix:abstract="+strings.ReplaceAll(name, " ", "%20"), listen.Options{}, "in use")
}

func TestExactlyOnePlaceIsGiven(t *testing.T) {
	dir := tempDir(t)
	wantError(t, "unix:", listen.Options{}, "give one")
	wantError(t, "unix:guid=00112233445566778899aabbccddeeff", listen.Options{}, "give one")
	wantError(t, "unix:path="+dir+"/a,dir="+dir, listen.Options{}, "both path and dir")
	wantError(t, "unix:tmpdir="+dir+",runtime=yes", listen.Options{}, "both tmpdir and runtime")
}

func TestNULInPathIsAnError(t *testing.T) {
	wantError(t, "unix:path="+tempDir(t)+"/a%00b", listen.Options{}, "NUL")
	wantError(t, "unix:abstract=a%00b", listen.Options{}, "NUL")
}

func TestPathLengths(t *testing.T) {
	dir := tempDir(t)
	fits := dir + "/" + strings.Repeat("x", 107-len(dir)-1)
	wantReachable(t, openOne(t, "unix:path="+fits, listen.Options{}))
	wantError(t, "unix:path="+fits+"x", listen.Options{}, "108 bytes long")
	wantError(t, "unix:dir="+fits, listen.Options{}, "bytes long")
	name := fmt.Sprintf("%0106d", os.Getpid())
	wantReachable(t, openOne(t, "unix:abstract="+name, listen.Options{}))
	wantError(t, "unix:abstract=x"+name, listen.Options{}, "107 bytes long")
}

// leave leaves a socket behind that nobody listens at, as a killed process does.
func leave(t *testing.T, path string, kind int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(tempDir(t), "bus")
	leave(t, path, unix.SOCK_STREAM)
	wantReachable(t, openOne(t, "unix:path="+path, listen.Options{}))
}

func TestSocketInUseIsLeftAlone(t *testing.T) {
	path := filepath.Join(tempDir(t), "bus")
	first := openOne(t, "unix:path="+path, listen.Options{})
	_, err := listen.Open(t.Context(), parse(t, "unix:path="+path)[0], listen.Options{})
	if !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("second bus at one path: %v, want EADDRINUSE", err)
	}
	// The connection that asked whether it is in use is waiting there.
	unix.Close(accept(t, first.FD))
	wantReachable(t, first)
}

// A listener whose queue is full answers EAGAIN: it is busy, not stale.
func TestBusySocketIsLeftAlone(t *testing.T) {
	path := filepath.Join(tempDir(t), "bus")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { unix.Listen(int(fd), 0) })
	for {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
			break
		}
	}
	wantError(t, "unix:path="+path, listen.Options{}, "another process listens")
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the socket is gone: %v", err)
	}
}

func TestOtherFilesAtThePathAreLeftAlone(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"file":          func(path string) error { return os.WriteFile(path, []byte("dear"), 0o600) },
		"directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"dangling link": func(path string) error { return os.Symlink("/nowhere/at/all", path) },
		"link to a stale socket": func(path string) error {
			leave(t, path+"-target", unix.SOCK_STREAM)
			return os.Symlink(path+"-target", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(tempDir(t), "bus")
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			wantError(t, "unix:path="+path, listen.Options{}, "not a socket")
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("what was there is gone: %v", err)
			}
		})
	}
}

func TestSocketOfAnotherTypeIsLeftAlone(t *testing.T) {
	path := filepath.Join(tempDir(t), "bus")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	wantError(t, "unix:path="+path, listen.Options{}, "cannot be found out")
}

func TestCloseRemovesOnlyItsOwnSocket(t *testing.T) {
	path := filepath.Join(tempDir(t), "bus")
	first := open(t, "unix:path="+path, listen.Options{})[0]
	if err := os.Rename(path, path+"-old"); err != nil { // so that its number is not given again
		t.Fatal(err)
	}
	second := openOne(t, "unix:path="+path, listen.Options{})
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	wantReachable(t, second)
}

func TestCloseDoesWithoutASocketThatIsGone(t *testing.T) {
	path := filepath.Join(tempDir(t), "bus")
	l := open(t, "unix:path="+path, listen.Options{})[0]
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
