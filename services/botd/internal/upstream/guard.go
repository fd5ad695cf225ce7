// Package upstream fetches what commands show: it asks the public APIs for a
// picture and downloads it.
//
// What these answer is not trusted. An address in an answer may point into the
// operator's own network, a body may be endless, a picture may be none: the
// guard and the bounds here are what stands between them and the bot.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// ErrPrivateAddress is returned for a connection to an address that is not on
// the public internet.
var ErrPrivateAddress = errors.New("not a public address")

// Guard opens connections to public addresses only. The address is checked
// after the name was resolved, for each one tried, so neither a name that
// points inside nor one that changes between check and use gets through.
type Guard struct {
	allow  []string
	open   net.Dialer // for the exceptions
	public net.Dialer
}

// NewGuard returns a guard whose only exceptions are the given host:port
// pairs, compared as they stand in an address.
func NewGuard(allow []string, dialer net.Dialer) (*Guard, error) {
	g := &Guard{open: dialer, public: dialer}
	for _, a := range allow {
		host, port, err := net.SplitHostPort(a)
		if err != nil || host == "" || port == "" || strings.Contains(host, "/") {
			return nil, fmt.Errorf("%q is not host:port", a)
		}
		g.allow = append(g.allow, strings.ToLower(a))
	}
	g.public.Control = refusePrivate
	return g, nil
}

// Dial connects to address, a host:port.
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if slices.Contains(g.allow, strings.ToLower(address)) {
		return g.open.DialContext(ctx, network, address)
	}
	return g.public.DialContext(ctx, network, address)
}

// refusePrivate is called with the resolved address of each attempt.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrPrivateAddress, address)
	}
	if ip := ap.Addr().Unmap(); !isPublic(ip) {
		return fmt.Errorf("%w: %s (an exception is made with BOTD_UPSTREAM_ALLOW)", ErrPrivateAddress, address)
	}
	return nil
}

// reserved are ranges that netip calls global unicast and that lead to no
// public host, or that carry an IPv4 address inside.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved
	netip.MustParsePrefix("64:ff9b::/96"),    // IPv4 behind NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),  // the same, local
	netip.MustParsePrefix("100::/64"),        // discard
	netip.MustParsePrefix("2001::/23"),       // Teredo and other assignments
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4
}

func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(ip) })
}
