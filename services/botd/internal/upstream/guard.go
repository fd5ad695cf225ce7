// Package upstream fetches what commands show: it asks the public APIs for a
// picture and downloads it, keeps some ahead, makes one smaller, and asks
// whatever servers the operator's own commands name.
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
func NewGuard(allow []string, dialer net.Dialer) *Guard {
	g := &Guard{open: dialer, public: dialer}
	for _, a := range allow {
		g.allow = append(g.allow, strings.ToLower(a))
	}
	g.public.Control = refusePrivate
	return g
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

// global is all that has been given out of IPv6 for public hosts; everything
// outside, as fec0::/10 and addresses with an IPv4 address inside, is not one.
var global = netip.MustParsePrefix("2000::/3")

// reserved are ranges that netip calls global unicast, or that are in global,
// and that lead to no public host or carry an IPv4 address inside.
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
	netip.MustParsePrefix("2001::/23"),       // Teredo and other assignments
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4
	netip.MustParsePrefix("3fff::/20"),       // documentation
}

func isPublic(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || (ip.Is6() && !global.Contains(ip)) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(ip) })
}
