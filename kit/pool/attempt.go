package pool

import (
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// attempt is one request of a call: the first, or one that follows a redirect.
// It is never used again: a hook that net/http calls late finds an attempt
// that nobody reads any more.
//
// net/http itself sends a request again when the kept connection it had picked is
// dead, as often as it finds such connections. The hooks hold it to this
// package's rules: they see every connection before a byte of the request
// is written to it, and close one that must not have it.
type attempt struct {
	trace  httptrace.ClientTrace
	client *Client
	read   bool
	start  time.Time // of the call
	first  atomic.Int64

	// Set by gotConn, which net/http calls on the goroutine of RoundTrip.
	conn    *conn
	base    int64 // bytes written to conn before
	left    bool  // bytes have left on an earlier connection
	reused  bool
	retried bool
	got     time.Duration
}

func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	if a.conn == nil {
		a.client.busy.Add(1)
	}
	a.left = a.sent()
	a.conn = info.Conn.(*conn) // all connections come from dial and dialTLS
	a.base, a.reused, a.got = a.conn.written.Load(), info.Reused, time.Since(a.start)
	switch {
	case a.left && (!a.read || info.Reused):
		// A second time is for reads, and for a fresh connection, after
		// which net/http gives up. On a closed one nothing is sent, and
		// net/http goes on to the next: kept ones that have idled for
		// longer are no better, and the next to get one might be a write.
		_ = a.conn.Close()
	case a.left:
		a.retried = true
		a.client.retries.Add(1)
	case info.Reused:
		a.client.reuses.Add(1)
	}
}

func (a *attempt) firstByte() { a.first.CompareAndSwap(0, int64(time.Since(a.start))) }

// sent tells whether a byte of the request has left. net/http waits for its
// writer before it tries again or returns an error, so this is final then.
func (a *attempt) sent() bool {
	return a.left || a.conn != nil && a.conn.written.Load() != a.base
}

// addTo gives the connection back to the count of idle ones and adds the
// attempt's times to c. It returns when the first byte came, 0 if none did.
func (a *attempt) addTo(c *Call) time.Duration {
	if a.conn == nil {
		return 0
	}
	a.client.busy.Add(-1)
	c.Reused = a.reused
	c.Retried = c.Retried || a.retried
	if !a.reused {
		c.DNS += a.conn.dns
		c.Connect += a.conn.connect
		c.TLS += a.conn.handshake
	}
	first := time.Duration(a.first.Load())
	if first > 0 {
		c.FirstByte += first - a.got
	}
	return first
}

// RoundTrip sends one request of the call.
func (k *call) RoundTrip(req *http.Request) (*http.Response, error) {
	if k.last != nil { // req follows a redirect
		k.sent = true
		k.last.addTo(&k.got)
	}
	a := &attempt{client: k.client, read: k.read, start: k.start}
	a.trace.GotConn, a.trace.GotFirstResponseByte = a.gotConn, a.firstByte
	k.last = a
	out := req.WithContext(httptrace.WithClientTrace(k.ctx, &a.trace))
	tellIfRepeatable(out, k.read)
	resp, err := k.client.transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = req
	resp.TLS = a.conn.state
	return resp, nil
}

// tellIfRepeatable tells net/http what it concludes from methods and headers
// (Request.isReplayable): a request that has a key but is no read must not
// look repeatable, and a read by another method must.
func tellIfRepeatable(req *http.Request, read bool) {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return
	}
	h := req.Header.Clone()
	if read {
		if _, ok := h[key]; !ok {
			h[key] = nil // documented to mark the request without being sent
		}
		req.Header = h
		return
	}
	// Header names have no case for the peer, but do for net/http's look-up.
	for name, plain := range plainKeys {
		if v, ok := h[name]; ok {
			delete(h, name)
			h[plain] = v
			req.Header = h
		}
	}
}

const key = "Idempotency-Key"

var plainKeys = map[string]string{key: "idempotency-key", "X-" + key: "x-idempotency-key"}
