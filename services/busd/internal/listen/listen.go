// Package listen opens the sockets that server addresses ask for: unix
// (path, dir, tmpdir, abstract, runtime), tcp, nonce-tcp, vsock, and systemd
// for sockets that were inherited.
//
// Every socket is non-blocking, close-on-exec and listening. What a Listener
// made in the file system it takes away on Close, and nothing else: whoever
// has put another socket in its place keeps it.
//
//	listen.go   the exported part (one address or the first that works), and
//	            what all transports need
//	file.go     what was made in the file system, and its removal
//	unix.go     sockets in the file system and abstract ones
//	tcp.go      tcp and nonce-tcp
//	nonce.go    the file with the nonce
//	vsock.go    between a virtual machine and its host
//	systemd.go  sockets that the service manager hands over
package listen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/address"
)

// backlog is how many connections may wait to be accepted. The kernel caps
// it at net.core.somaxconn, which is 4096 by default.
const backlog = 4096

// Listener is one listening socket.
type Listener struct {
	// FD is the socket. It belongs to the Listener: Close closes it.
	FD int

	// Address is what clients connect to, escaped, with what was left open
	// (port, name of the file) filled in and without a guid, which may follow
	// after a comma. Sockets of one address that a client need not tell apart
	// have the same one: those of a host with several IP addresses.
	Address string

	// Nonce is what a client must send before all else, or nil.
	Nonce []byte

	// Unix says that the kernel names the peers' credentials, and that file
	// descriptors can be passed.
	Unix bool

	made []file
}

// Options is what Open needs to know of the process.
type Options struct {
	// Getenv reads the environment: XDG_RUNTIME_DIR, LISTEN_PID and
	// LISTEN_FDS. Nil is an empty environment.
	Getenv func(name string) string

	// PID is the process that LISTEN_PID must name.
	PID int

	// FirstFD is the first inherited socket. 0 is what systemd uses, 3.
	FirstFD int
}

// Open opens what one address asks for, which may be several sockets. It
// opens all of them or none. ctx bounds the resolution of host names.
func Open(ctx context.Context, a address.Address, o Options) ([]*Listener, error) {
	t, err := lookUp(a)
	if err != nil {
		return nil, err
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.FirstFD == 0 {
		o.FirstFD = 3
	}
	listeners, err := t.open(ctx, a, o)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", a, err)
	}
	return listeners, nil
}

// OpenFirst opens the first address of a list that can be opened, as one
// <listen> element or --address asks for it. If none can, the error has the
// reasons of all.
func OpenFirst(ctx context.Context, list []address.Address, o Options) ([]*Listener, error) {
	var all error
	for _, a := range list {
		listeners, err := Open(ctx, a, o)
		if err == nil {
			return listeners, nil
		}
		all = errors.Join(all, err)
	}
	if all == nil {
		return nil, errors.New("listen: no address is given")
	}
	return nil, all
}

// CheckFirst says why none of a list can be opened, on whatever machine: the
// transport, a key or a value is wrong. It asks nothing of this one.
func CheckFirst(list []address.Address) error {
	var all error
	for _, a := range list {
		t, err := lookUp(a)
		if err == nil {
			err = t.check(a)
			if err == nil {
				return nil
			}
			err = fmt.Errorf("listen on %s: %w", a, err)
		}
		all = errors.Join(all, err)
	}
	return all
}

// Close closes the socket and removes the files that Open made for it. A
// file that another process has put in place of one of them stays. To close
// a Listener twice is an error, and harmless.
func (l *Listener) Close() error {
	err := unix.Close(l.FD)
	if err != nil {
		err = fmt.Errorf("close socket of %s: %w", l.Address, err)
	}
	for _, f := range l.made {
		err = errors.Join(err, f.remove())
	}
	l.FD, l.made = -1, nil
	return err
}

// transport is a way to listen.
type transport struct {
	// check says what is wrong with the address itself.
	check func(address.Address) error
	open  func(context.Context, address.Address, Options) ([]*Listener, error)
}

var transports = map[string]transport{
	"unix":      {func(a address.Address) error { _, _, err := place(a); return err }, openUnix},
	"tcp":       {func(a address.Address) error { _, err := planTCP(a); return err }, openTCP},
	"nonce-tcp": {func(a address.Address) error { _, err := planTCP(a, "noncefile"); return err }, openNonceTCP},
	"systemd":   {func(a address.Address) error { return only(a) }, openInherited},
	"vsock":     {func(a address.Address) error { _, err := planVsock(a); return err }, openVsock},
}

func lookUp(a address.Address) (transport, error) {
	t, known := transports[a.Transport]
	if !known {
		return t, fmt.Errorf("listen on %s: transport %q is unknown or not one to listen on; there are unix, tcp, nonce-tcp, systemd and vsock", a, a.Transport)
	}
	return t, nil
}

// only refuses keys that the transport does not take: one that is
// misspelt would otherwise be passed over in silence. A guid is of no use to
// a server, and harmless.
func only(a address.Address, keys ...string) error {
	for _, p := range a.Params {
		if p.Key != "guid" && !slices.Contains(keys, p.Key) {
			return fmt.Errorf("transport %s takes no key %q to listen on", a.Transport, p.Key)
		}
	}
	return nil
}

// start makes a bound socket listen.
func start(fd int) error { return os.NewSyscallError("listen", unix.Listen(fd, backlog)) }

// describe writes an address of pairs of key and value.
func describe(transport string, pairs ...string) string {
	a := address.Address{Transport: transport}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		a.Params = append(a.Params, address.Param{Key: pairs[0], Value: pairs[1]})
	}
	return a.String()
}

// closeAll gives up what was opened before something failed.
func closeAll(listeners []*Listener) {
	for _, l := range listeners {
		l.Close() // the failure that led here is the one to tell
	}
}
