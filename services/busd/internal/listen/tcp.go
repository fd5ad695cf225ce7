package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/address"
)

// portTries is how often a port is looked for that is free at all addresses
// of a host.
const portTries = 10

// tcpPlan is what an address of TCP says, with defaults filled in.
type tcpPlan struct {
	host   string       // what clients are told
	bind   string       // where to listen
	family string       // "", ipv4 or ipv6
	port   uint16       // 0 is any
	at     []netip.Addr // of bind, once it is looked up
}

func openTCP(ctx context.Context, a address.Address, _ Options) ([]*Listener, error) {
	p, err := planTCP(a)
	if err != nil {
		return nil, err
	}
	if p.at, err = resolve(ctx, p.bind, p.family); err != nil {
		return nil, err
	}
	return p.open("tcp", nil)
}

func openNonceTCP(ctx context.Context, a address.Address, o Options) ([]*Listener, error) {
	p, err := planTCP(a, "noncefile")
	if err != nil {
		return nil, err
	}
	if p.at, err = resolve(ctx, p.bind, p.family); err != nil {
		return nil, err
	}
	path, _ := a.Get("noncefile")
	n, err := newNonce(path, o.Getenv)
	if err != nil {
		return nil, err
	}
	listeners, err := p.open("nonce-tcp", n)
	if err != nil {
		return nil, errors.Join(err, n.remove())
	}
	return listeners, nil
}

func planTCP(a address.Address, more ...string) (p tcpPlan, err error) {
	if err := only(a, append([]string{"host", "bind", "port", "family"}, more...)...); err != nil {
		return p, err
	}
	if text, found := a.Get("port"); found {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return p, fmt.Errorf("port %q is not a number from 0 to 65535", text)
		}
		p.port = uint16(port)
	}
	p.family, _ = a.Get("family")
	if p.family != "" && networks[p.family] == "" {
		return p, fmt.Errorf("family %q is neither ipv4 nor ipv6", p.family)
	}
	var found bool
	if p.host, found = a.Get("host"); !found {
		p.host = "localhost"
	}
	if p.bind, found = a.Get("bind"); !found {
		p.bind = p.host
	}
	return p, nil
}

// networks are the names that package net has for the families.
var networks = map[string]string{"": "ip", "ipv4": "ip4", "ipv6": "ip6"}

// resolve returns the IP addresses of an interface to listen at, without
// repetition. * is all interfaces.
func resolve(ctx context.Context, host, family string) ([]netip.Addr, error) {
	var found []netip.Addr
	if host == "*" {
		found = []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}
	} else if ip, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{ip}
	} else if found, err = net.DefaultResolver.LookupNetIP(ctx, networks[family], host); err != nil {
		return nil, fmt.Errorf("resolve the host to listen at: %w", err)
	}
	var all []netip.Addr
	for _, ip := range found {
		ip = ip.Unmap()
		fits := family == "" || ip.Is4() == (family == "ipv4")
		if fits && ip.Zone() == "" && !slices.Contains(all, ip) {
			all = append(all, ip)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("host %q has no address to listen at (family %q, without zone)", host, family)
	}
	return all, nil
}

// open opens a socket at each IP address, all with one port. Those that this
// machine does not have, such as ::1 without IPv6, are passed over if there
// are others.
func (p tcpPlan) open(transport string, n *nonce) ([]*Listener, error) {
	for try := 1; ; try++ {
		listeners, port, err := p.bindAll()
		if p.port == 0 && errors.Is(err, unix.EADDRINUSE) && try < portTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		text := describe(transport, p.pairs(port, n)...)
		for i, l := range listeners {
			l.Address = text
			if n != nil {
				l.Nonce = n.bytes
			}
			if n != nil && i == 0 {
				l.made = n.made
			}
		}
		return listeners, nil
	}
}

func (p tcpPlan) pairs(port uint16, n *nonce) []string {
	pairs := []string{"host", p.host, "port", strconv.Itoa(int(port))}
	if p.family != "" {
		pairs = append(pairs, "family", p.family)
	}
	if n != nil {
		pairs = append(pairs, "noncefile", n.path)
	}
	return pairs
}

func (p tcpPlan) bindAll() (listeners []*Listener, port uint16, err error) {
	port = p.port
	var missing error
	for _, ip := range p.at {
		fd, got, err := bindTCP(netip.AddrPortFrom(ip, port))
		if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
			missing = err
			continue
		}
		if err != nil {
			closeAll(listeners)
			return nil, 0, err
		}
		port = got
		listeners = append(listeners, &Listener{FD: fd})
	}
	if len(listeners) == 0 {
		return nil, 0, missing
	}
	return listeners, port, nil
}

func bindTCP(at netip.AddrPort) (fd int, port uint16, err error) {
	family, sa := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(at.Port()), Addr: as4(at.Addr())})
	if at.Addr().Is6() {
		family, sa = unix.AF_INET6, &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, 0, os.NewSyscallError("socket", err)
	}
	err = options(fd, family)
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, sa))
	}
	if err == nil {
		err = start(fd)
	}
	if err == nil {
		sa, err = unix.Getsockname(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, fmt.Errorf("%s: %w", at, err)
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		port = uint16(sa.Port)
	case *unix.SockaddrInet6:
		port = uint16(sa.Port)
	}
	return fd, port, nil
}

// options prepares a socket: the port of a bus that has just ended is free
// at once, connections inherit that small messages are not held back, and
// IPv6 leaves IPv4 to a socket of its own.
func options(fd, family int) error {
	err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil && family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	return os.NewSyscallError("setsockopt", err)
}

func as4(ip netip.Addr) (b [4]byte) {
	if ip.Is4() {
		b = ip.As4()
	}
	return b
}
