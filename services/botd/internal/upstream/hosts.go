package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ErrHost is returned for an address at a host that is not to be asked, be it
// told by an API or by a redirect.
var ErrHost = errors.New("not one of the hosts that may be asked")

// PictureHosts are where TheCatAPI and Commons have their pictures: what the
// former's answers name, besides its own hosts, and the thumbnails of the latter.
var PictureHosts = []string{"*.thecatapi.com", "s3.us-west-2.amazonaws.com", "*.media.tumblr.com", "upload.wikimedia.org"}

// Hosts are the hosts that may be asked. The zero value has none.
type Hosts struct{ list []host }

type host struct {
	name  string // in lower case; with below what comes behind its star: ".example.org"
	below bool   // any name that ends so
	port  string // "" is the one of the scheme
}

// ParseHosts reads a list of hosts: "api.example.org", or "*.example.org" for
// every name below that one, not for itself; each with ":8081" behind it where
// the port is another than that of http or https. The error has all faults.
func ParseHosts(patterns []string) (Hosts, error) {
	var h Hosts
	var faults []error
	for _, p := range patterns {
		parsed, err := parseHost(p)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		h.list = append(h.list, parsed)
	}
	return h, errors.Join(faults...)
}

func parseHost(pattern string) (host, error) {
	u, err := url.Parse("http://" + pattern)
	if err != nil || u.Host != pattern || u.Hostname() == "" || strings.HasSuffix(pattern, ":") {
		return host{}, fmt.Errorf("%.100q is no host: write example.org, *.example.org or example.org:8081", pattern)
	}
	name, below := strings.CutPrefix(hostname(u), "*")
	switch {
	case below && (!strings.HasPrefix(name, ".") || strings.Count(name, ".") < 2):
		return host{}, fmt.Errorf("%.100q is too wide: write *.example.org, a name of two parts at least behind the star", pattern)
	case strings.Contains(name, "*"):
		return host{}, fmt.Errorf("%.100q has a star inside: it can only be the first part, as in *.example.org", pattern)
	}
	return host{name: name, below: below, port: u.Port()}, nil
}

// Allow says whether the host of u, an http or https address, may be asked.
func (h Hosts) Allow(u *url.URL) bool {
	name := hostname(u)
	for _, a := range h.list {
		if (name == a.name || a.below && strings.HasSuffix(name, a.name)) && a.takes(u) {
			return true
		}
	}
	return false
}

// takes says whether u is at the port of the host.
func (a host) takes(u *url.URL) bool {
	usual := "80"
	if u.Scheme == "https" {
		usual = "443"
	}
	want, port := a.port, u.Port()
	if want == "" {
		want = usual
	}
	if port == "" {
		port = usual
	}
	return port == want
}

// hostname is u's host without its port, as it is compared.
func hostname(u *url.URL) string { return strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) }

// webAddress reads an address. What is wrong with it is not told: it may have
// what people typed, or a key.
func webAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, errors.New("no web address")
	}
	return u, nil
}
