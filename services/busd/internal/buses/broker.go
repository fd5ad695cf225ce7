package buses

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/wire"
)

// machine is the machine's id that the launcher would have read.
const machine = "0123456789abcdef0123456789abcdef"

// generous are quotas that no benchmark reaches, so that all three buses do the
// same work: the session.conf of the others has none to speak of either.
var generous = []string{"--max-bytes", "4000000000", "--max-fds", "100000", "--max-matches", "10000000", "--max-objects", "10000000"}

// startBroker runs dbus-broker. It has no address of its own: a launcher hands
// it a socket that listens already, over the controller's connection.
func (b *Bus) startBroker(binary string, o Options) error {
	if o.Config != "" || o.Address != "" {
		return errors.New("it takes neither a configuration nor an address")
	}
	path := filepath.Join(b.Dir, "socket")
	listener, err := listen(path)
	if err != nil {
		return err
	}
	defer unix.Close(listener)
	ours, its, err := pair()
	if err != nil {
		return err
	}
	b.control = ours
	cmd := exec.Command(binary, append(append([]string{"--controller", "3", "--machine-id", machine}, generous...), o.Args...)...)
	cmd.ExtraFiles = []*os.File{its}
	err = b.run(cmd, o)
	its.Close()
	if err != nil {
		return err
	}
	if err := b.raiseFiles(); err != nil {
		return err
	}
	if err := ours.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if err := addListener(ours, listener); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	if err := ours.SetDeadline(time.Time{}); err != nil {
		return err
	}
	// What it tells the launcher of services concerns nobody here, but must be
	// read. It ends with the connection.
	go func() { _, _ = io.Copy(io.Discard, ours) }()
	b.Address = "unix:path=" + path
	return nil
}

// listen makes a socket that a broker takes: it must not block.
func listen(path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 4096)); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listen on %s: %w", path, err)
	}
	return fd, nil
}

// pair makes the controller's connection: our end, and the broker's, which must
// not block either.
func pair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	file := os.NewFile(uintptr(fds[0]), "controller")
	defer file.Close() // FileConn has a copy
	its := os.NewFile(uintptr(fds[1]), "controller")
	ours, err := net.FileConn(file)
	if err == nil {
		// After NewFile, which would else make it block again for the child.
		err = unix.SetNonblock(fds[1], true)
	}
	if err != nil {
		its.Close()
		return nil, nil, fmt.Errorf("controller's connection: %w", err)
	}
	return ours.(*net.UnixConn), its, nil
}

// raiseFiles lets the broker open as many files as it may: the others do so
// themselves, and this one leaves it to its unit.
func (b *Bus) raiseFiles() error {
	var limit unix.Rlimit
	if err := unix.Prlimit(b.PID, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		return fmt.Errorf("its limit of open files: %w", err)
	}
	limit.Cur = limit.Max
	if err := unix.Prlimit(b.PID, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		return fmt.Errorf("its limit of open files: %w", err)
	}
	return nil
}

// addListener authenticates, which the broker is the server of, and hands the
// listening socket over.
func addListener(c *net.UnixConn, listener int) error {
	const hello, agreed = "\x00AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n", "AGREE_UNIX_FD\r\n"
	if _, err := c.Write([]byte(hello)); err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	var e wire.Encoder
	e.Begin(wire.Header{Type: wire.MethodCall, Serial: 1, UnixFDs: 1, Path: "/org/bus1/DBus/Broker",
		Interface: "org.bus1.DBus.Broker", Member: "AddListener", Signature: "ohv"})
	e.ObjectPath("/org/bus1/DBus/Listener/0")
	e.Uint32(0) // the first descriptor
	allowAll(&e)
	e.End()
	if _, _, err := c.WriteMsgUnix(e.Buf, unix.UnixRights(listener), nil); err != nil {
		return fmt.Errorf("send AddListener: %w", err)
	}
	got, chunk := []byte(nil), make([]byte, 4096)
	for {
		n, err := c.Read(chunk)
		if err != nil {
			return fmt.Errorf("read the answer to AddListener: %w", err)
		}
		got = append(got, chunk[:n]...)
		_, answer, ok := bytes.Cut(got, []byte(agreed))
		if !ok || len(answer) < wire.FixedHeader {
			continue
		}
		header, total, err := wire.Frame(answer)
		if err != nil {
			return fmt.Errorf("read the answer to AddListener: %w", err)
		}
		if len(answer) < total {
			continue
		}
		var m wire.Message
		if err := m.Parse(answer[:header]); err != nil {
			return fmt.Errorf("read the answer to AddListener: %w", err)
		}
		if m.Type != wire.MethodReturn {
			return fmt.Errorf("AddListener: %s", m.ErrorName)
		}
		return nil
	}
}
