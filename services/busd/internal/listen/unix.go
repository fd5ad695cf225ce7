package listen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/address"
)

const (
	// maxPath is the longest path of a socket, in bytes: the kernel's
	// sun_path has 108, of which one is a NUL.
	maxPath = 107

	// maxAbstract is the longest abstract name. The kernel would take one
	// byte more, as it needs no NUL at its end; package unix leaves room for
	// it, and clients do likewise.
	maxAbstract = 106
)

// nameTries is how many random names are tried in a directory.
const nameTries = 100

func openUnix(_ context.Context, a address.Address, o Options) ([]*Listener, error) {
	key, value, err := place(a)
	if err != nil {
		return nil, err
	}
	var l *Listener
	switch key {
	case "path":
		l, err = openPath(value)
	case "runtime":
		l, err = openRuntime(o.Getenv("XDG_RUNTIME_DIR"))
	case "abstract":
		l, err = openAbstract(value)
	default:
		l, err = openIn(value)
	}
	if err != nil {
		return nil, err
	}
	return []*Listener{l}, nil
}

// place returns the one key that says where the socket is to be.
func place(a address.Address) (key, value string, err error) {
	if err := only(a, "path", "dir", "tmpdir", "abstract", "runtime"); err != nil {
		return "", "", err
	}
	for _, p := range a.Params {
		if p.Key == "guid" {
			continue
		}
		if key != "" {
			return "", "", fmt.Errorf("both %s and %s are given: give one", key, p.Key)
		}
		key, value = p.Key, p.Value
	}
	if key == "" {
		return "", "", errors.New("give one of path, dir, tmpdir, abstract and runtime")
	}
	if strings.IndexByte(value, 0) >= 0 {
		return "", "", fmt.Errorf("%s contains a NUL byte", key)
	}
	if key == "runtime" && value != "yes" {
		return "", "", fmt.Errorf("runtime can only be yes, and not %q", value)
	}
	return key, value, nil
}

func openRuntime(dir string) (*Listener, error) {
	if !filepath.IsAbs(dir) {
		return nil, errors.New("XDG_RUNTIME_DIR is not set to an absolute path, which runtime=yes needs")
	}
	return openPath(filepath.Join(dir, "bus"))
}

// openPath opens a socket at a path. A socket that is there and that nobody
// listens at is replaced; anything else that is there is left alone.
func openPath(path string) (*Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	l, err := bindPath(path)
	if errors.Is(err, unix.EADDRINUSE) {
		if err := removeStale(path); err != nil {
			return nil, err
		}
		l, err = bindPath(path)
	}
	return l, err
}

// openIn opens a socket with a random name in a directory.
func openIn(dir string) (*Listener, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for range nameTries {
		l, err := bindPath(filepath.Join(dir, "dbus-"+rand.Text()[:10]))
		if !errors.Is(err, unix.EADDRINUSE) {
			return l, err
		}
	}
	return nil, fmt.Errorf("%d random names in %s are all in use", nameTries, dir)
}

func bindPath(path string) (*Listener, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("the path is %d bytes long, and %d are the most: choose a shorter directory", len(path), maxPath)
	}
	fd, err := unixSocket()
	if err != nil {
		return nil, err
	}
	l := &Listener{FD: fd, Unix: true, Address: describe("unix", "path", path)}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		l.Close()
		return nil, &os.PathError{Op: "bind", Path: path, Err: err}
	}
	f, err := made(path)
	if err == nil {
		l.made = append(l.made, f)
		// Who may connect is the policy's to say, which knows who it is.
		err = os.Chmod(path, 0o777)
	}
	if err == nil {
		err = start(fd)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func openAbstract(name string) (*Listener, error) {
	if len(name) > maxAbstract {
		return nil, fmt.Errorf("the abstract name is %d bytes long, and %d are the most", len(name), maxAbstract)
	}
	fd, err := unixSocket()
	if err != nil {
		return nil, err
	}
	// Package unix writes the leading NUL byte of abstract names as @.
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + name})
	if err != nil {
		err = fmt.Errorf("bind the abstract name %q: %w", name, err)
	} else {
		err = start(fd)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Listener{FD: fd, Unix: true, Address: describe("unix", "abstract", name)}, nil
}

// removeStale removes a socket that a process left behind. One that answers,
// or that does so only to some, is in use.
func removeStale(path string) error {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return fmt.Errorf("%s is there and is not a socket: remove it, if it is not needed", path)
	}
	fd, err := unixSocket()
	if err != nil {
		return err
	}
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	unix.Close(fd)
	switch {
	case err == nil, errors.Is(err, unix.EAGAIN):
		return fmt.Errorf("another process listens at %s: %w", path, unix.EADDRINUSE)
	case errors.Is(err, unix.ECONNREFUSED):
		return file{path, uint64(st.Dev), st.Ino}.remove()
	}
	return fmt.Errorf("a socket is at %s, and whether it is in use cannot be found out: %w", path, err)
}

func unixSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	return fd, nil
}
