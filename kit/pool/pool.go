// Package pool talks to one outside party over connections that are kept and
// shared, and remembers what it said.
//
// A Client is made once per endpoint, a logical peer such as "thecatapi", and
// shared by all callers: its connections are kept, so that a call pays for
// DNS, TCP and TLS only when none is free. It promises:
//
//   - Every call ends, and is reported exactly once: when its body is read to
//     the end or closed, when it fails, or when its context or Timeout ends,
//     even if the caller forgot the body.
//   - A write is sent at most once. Nothing here, net/http included, sends a
//     request other than a read again after one of its bytes has left, and an
//     error without ErrUnsent means that the peer may have received it.
//   - A read (GET, HEAD, OPTIONS, or marked by AsRead) is sent again once, on
//     a fresh connection, when the peer had closed the kept one and no byte
//     of an answer came.
//
// A Cache remembers values by key for a time, and lets callers who want the
// same key share one fetch.
//
// It speaks HTTP/1.1 only: one call per connection makes "was it sent" and
// "was it reused" plain facts, and a lost connection costs one call. It uses no
// proxy, since a guard in Dial would judge the proxy's address instead of the
// peer's. It does not rate-limit (kit/budget does), does not judge status
// codes, and does not upgrade connections. What a peer sends on a connection that
// waits for nothing net/http quotes in the output of package log, which is for
// main to set.
package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// ErrUnsent marks an error of a call of which no byte has left: the peer cannot
// have received it. A failed call without it has an unknown outcome.
var ErrUnsent = errors.New("not sent")

// ErrBodyTooLarge ends a call whose answer is longer than Options.MaxBody.
var ErrBodyTooLarge = errors.New("answer too large")

// Options of a Client. The zero value of each field is its default; a negative
// duration or MaxBody means none.
type Options struct {
	// MaxConns is how many connections a host gets, 32 by default. It is
	// the number of calls the callers make at once, their budget; a call beyond it
	// waits its turn.
	MaxConns int

	// MaxIdle is how many unused connections are kept per host. Its default is
	// MaxConns: net/http's own default of 2 closes all others after each burst,
	// and the next burst pays for their handshakes again.
	MaxIdle int

	// IdleTimeout is how long an unused connection is kept, 120 s by default: a
	// call a minute still finds its connection, and one at which the peer gave up
	// earlier costs a read one retry.
	IdleTimeout time.Duration

	DialTimeout   time.Duration // DNS and TCP, 5 s by default
	TLSTimeout    time.Duration // the TLS handshake, 5 s by default
	HeaderTimeout time.Duration // from the last byte sent to the answer's header, 30 s by default

	// Timeout bounds the whole call, its body included, beside the request's
	// context; 60 s by default.
	Timeout time.Duration

	// MaxBody is how many bytes an answer may have after decompression, 32 MiB by
	// default. Beyond it the body's Read fails with ErrBodyTooLarge; an answer that
	// announces more fails in Do.
	MaxBody int64

	// MaxRedirects is how many redirects a read follows. At 0, and for every
	// write, the redirect itself is the answer.
	MaxRedirects int

	// CheckRedirect, if set, may refuse each redirect that would be followed.
	CheckRedirect func(next *http.Request, via []*http.Request) error

	// Dial, if set, connects to address, a host:port, in place of a net.Dialer. A
	// guard against addresses that must not be reached goes here. Its context
	// ends with DialTimeout.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// TLS, if set, replaces the default configuration. It is cloned.
	TLS *tls.Config

	// Start, if set, is called as each call begins. The call runs under the
	// context it returns, and the function it returns gets the finished call,
	// exactly once, on whichever goroutine ended it.
	Start func(ctx context.Context, operation string) (context.Context, func(Call))
}

// Client makes the calls to one peer. It is safe for many goroutines.
type Client struct {
	name string
	o    Options
	tls  *tls.Config

	transport *http.Transport

	open, busy             atomic.Int64
	dials, reuses, retries atomic.Uint64
}

// Stats of a Client. The counts are since New.
type Stats struct {
	Name    string
	Open    int64  // connections that exist
	Idle    int64  // of these, without a call
	Dials   uint64 // connections made
	Reuses  uint64 // requests that found a connection
	Retries uint64 // reads sent a second time
}

// New makes a client for the peer called name.
func New(name string, o Options) *Client {
	c := &Client{name: name, o: o.withDefaults()}
	c.tls = clientTLS(c.o.TLS)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	c.transport = &http.Transport{
		DialContext:         c.dial,
		DialTLSContext:      c.dialTLS,
		Protocols:           protocols,
		MaxConnsPerHost:     c.o.MaxConns,
		MaxIdleConnsPerHost: c.o.MaxIdle,
		// A peer is one host, or two where it redirects.
		MaxIdleConns:           2 * c.o.MaxIdle,
		IdleConnTimeout:        c.o.IdleTimeout,
		ResponseHeaderTimeout:  c.o.HeaderTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
	return c
}

func (o Options) withDefaults() Options {
	o.MaxConns = orDefault(o.MaxConns, 32)
	o.MaxIdle = orDefault(o.MaxIdle, o.MaxConns)
	o.IdleTimeout = orDefault(o.IdleTimeout, 120*time.Second)
	o.DialTimeout = orDefault(o.DialTimeout, 5*time.Second)
	o.TLSTimeout = orDefault(o.TLSTimeout, 5*time.Second)
	o.HeaderTimeout = orDefault(o.HeaderTimeout, 30*time.Second)
	o.Timeout = orDefault(o.Timeout, 60*time.Second)
	o.MaxBody = orDefault(o.MaxBody, 32<<20)
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	return o
}

// orDefault is d for 0, and 0, which net/http takes as none, for less.
func orDefault[T int | int64 | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return max(v, 0)
}

// Stats counts connections and their use.
func (c *Client) Stats() Stats {
	open := c.open.Load()
	return Stats{
		Name: c.name, Open: open, Idle: max(open-c.busy.Load(), 0),
		Dials: c.dials.Load(), Reuses: c.reuses.Load(), Retries: c.retries.Load(),
	}
}

// CloseIdle closes the connections that no call uses. Calls go on.
func (c *Client) CloseIdle() {
	c.transport.CloseIdleConnections()
}
