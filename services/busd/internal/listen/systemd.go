package listen

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/address"
)

// maxInherited bounds LISTEN_FDS, so that a number gone wrong does not make
// the process look at every descriptor there could be.
const maxInherited = 1024

// openInherited takes the sockets that a service manager opened, as
// sd_listen_fds(3) describes it. They stay where they are; what they are
// bound to belongs to the manager, and is not removed on Close. The caller
// takes LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES out of the environment of
// processes that it starts.
func openInherited(_ context.Context, a address.Address, o Options) ([]*Listener, error) {
	if err := only(a); err != nil {
		return nil, err
	}
	n, err := Inherited(o)
	if err != nil {
		return nil, err
	}
	var listeners []*Listener
	for fd := o.FirstFD; fd < o.FirstFD+n; fd++ {
		l, err := adopt(fd)
		if err != nil {
			return nil, fmt.Errorf("inherited descriptor %d: %w", fd, err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// Inherited is how many sockets a service manager announces in the environment. An
// error says why it is none.
func Inherited(o Options) (int, error) {
	pid, fds := o.Getenv("LISTEN_PID"), o.Getenv("LISTEN_FDS")
	if pid == "" || fds == "" {
		return 0, errors.New("no socket is inherited: LISTEN_PID and LISTEN_FDS are not set. The unit needs a .socket beside it")
	}
	if pid != strconv.Itoa(o.PID) {
		return 0, fmt.Errorf("no socket is inherited: LISTEN_PID is %s, and this is process %d", pid, o.PID)
	}
	n, err := strconv.Atoi(fds)
	if err != nil || n < 1 || n > maxInherited {
		return 0, fmt.Errorf("LISTEN_FDS is %q, and not a number from 1 to %d", fds, maxInherited)
	}
	return n, nil
}

// adopt checks that a descriptor is a socket that listens.
func adopt(fd int) (*Listener, error) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return nil, fmt.Errorf("not a socket: %w", err)
	}
	if kind != unix.SOCK_STREAM {
		return nil, errors.New("not a stream socket: use ListenStream= in the .socket unit")
	}
	listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil {
		return nil, os.NewSyscallError("getsockopt", err)
	}
	if listens == 0 {
		return nil, errors.New("a connection, and not a socket that listens: use Accept=no in the .socket unit")
	}
	text, isUnix, err := whereabouts(fd)
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return &Listener{FD: fd, Address: text, Unix: isUnix}, nil
}

// whereabouts is the address that a bound socket is reached at.
func whereabouts(fd int) (text string, isUnix bool, err error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return "", false, os.NewSyscallError("getsockname", err)
	}
	switch sa := sa.(type) {
	case *unix.SockaddrUnix:
		if name, abstract := strings.CutPrefix(sa.Name, "@"); abstract {
			return describe("unix", "abstract", name), true, nil
		}
		return describe("unix", "path", sa.Name), true, nil
	case *unix.SockaddrInet4:
		host := netip.AddrFrom4(sa.Addr).String()
		return describe("tcp", "host", host, "port", strconv.Itoa(sa.Port), "family", "ipv4"), false, nil
	case *unix.SockaddrInet6:
		host := netip.AddrFrom16(sa.Addr).String()
		return describe("tcp", "host", host, "port", strconv.Itoa(sa.Port), "family", "ipv6"), false, nil
	case *unix.SockaddrVM:
		cid := sa.CID
		if cid == unix.VMADDR_CID_ANY {
			cid = localCID()
		}
		return describe("vsock", "cid", strconv.FormatUint(uint64(cid), 10), "port", strconv.FormatUint(uint64(sa.Port), 10)), false, nil
	}
	return "", false, errors.New("neither a unix, nor a tcp, nor a vsock socket")
}
