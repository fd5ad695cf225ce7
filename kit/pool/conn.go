package pool

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// conn is a connection that knows what it cost and how much was written to it.
//
// The times of a dial stay with its connection instead of being collected by
// hooks of the call: net/http dials on behalf of whoever comes first, and its
// hooks may fire after the call that wanted the connection is over
// (golang/go#21597). Whoever gets the new connection reads them here.
type conn struct {
	net.Conn // TCP, or TLS over it: what is written here is the request itself
	client   *Client
	closed   atomic.Bool
	written  atomic.Int64

	dns, connect, handshake time.Duration        // immutable once dialled
	state                   *tls.ConnectionState // nil without TLS
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

func (c *conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.client.open.Add(-1)
	}
	return c.Conn.Close()
}

func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := c.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return c.opened(nc), nil
}

// dialTLS shakes hands itself, so that conn wraps the TLS connection and counts
// bytes of requests: underneath, alerts and tickets would count as well.
func (c *Client) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := c.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cfg := c.tls
	if cfg.ServerName == "" {
		cfg = cfg.Clone()
		cfg.ServerName, _, _ = net.SplitHostPort(addr) // net/http made addr as host:port
	}
	if c.o.TLSTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.o.TLSTimeout)
		defer cancel()
	}
	start := time.Now()
	tc := tls.Client(nc.Conn, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = nc.Conn.Close() // the handshake's error is the one to tell
		return nil, &net.OpError{Op: "tls handshake", Net: network, Addr: nc.RemoteAddr(), Err: err}
	}
	state := tc.ConnectionState()
	nc.Conn, nc.state, nc.handshake = tc, &state, time.Since(start)
	return c.opened(nc), nil
}

// connect resolves and connects. Connect is all that is not DNS: with two
// address families several attempts overlap, and only the whole means something.
func (c *Client) connect(ctx context.Context, network, addr string) (*conn, error) {
	start := time.Now()
	var dns atomic.Int64
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSDone: func(httptrace.DNSDoneInfo) { dns.Store(int64(time.Since(start))) },
	})
	if c.o.DialTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.o.DialTimeout)
		defer cancel()
	}
	nc, err := c.o.Dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	t := &conn{Conn: nc, client: c, dns: time.Duration(dns.Load())}
	t.connect = time.Since(start) - t.dns
	return t, nil
}

func (c *Client) opened(nc *conn) *conn {
	c.dials.Add(1)
	c.open.Add(1)
	return nc
}

// clientTLS is cfg made fit for a client that comes back: sessions are resumed,
// which saves the peer's certificate and its check on every later handshake.
func clientTLS(cfg *tls.Config) *tls.Config {
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg = cfg.Clone()
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.ClientSessionCache == nil {
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	return cfg
}
