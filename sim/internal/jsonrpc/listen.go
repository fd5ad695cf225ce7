package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// SocketPath returns the path in unix:/path or unix:///path; false for an
// address of another kind. The path may be wrong: ListenUnix refuses it.
func SocketPath(address string) (string, bool) {
	path, ok := strings.CutPrefix(address, "unix:")
	if rest, slashes := strings.CutPrefix(path, "//"); slashes {
		path = rest
	}
	return path, ok
}

// ListenUnix listens on a Unix socket that only this user may open. A socket
// that an earlier process left is removed first, one where somebody listens is
// not. The file goes when the listener is closed.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("listen on unix:%s: want unix:/path", path)
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, fmt.Errorf("listen on unix:%s: %w", path, err)
	}
	// The mode is set before the file is there, as far as the system takes it then.
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	listener, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on unix:%s: %w", path, err), listener.Close())
	}
	return listener, nil
}

// removeStale removes a socket where nobody listens.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is a file that is no socket")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return errors.New("somebody listens there already")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}
