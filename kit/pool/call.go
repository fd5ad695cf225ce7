package pool

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// Call is what one finished call took. DNS, Connect and TLS are zero when it
// found its connection. With a retry or redirects each time is the sum over
// all requests, and Reused tells of the last.
type Call struct {
	DNS       time.Duration
	Connect   time.Duration // TCP
	TLS       time.Duration // handshake
	FirstByte time.Duration // from having a connection to the answer's first byte
	Body      time.Duration // from the first byte to the end of the call
	Total     time.Duration // from Do to the end of the call
	Reused    bool          // the connection was there before the call
	Retried   bool          // a request was sent twice: see the package comment
	Status    int           // 0 without an answer
	BytesIn   int64         // of the body, after decompression
	Err       error         // nil when the body was closed early
}

type readKey struct{}

// AsRead marks calls made under the returned context as reads whatever their
// method: the peer does nothing that a second delivery would do twice. To be
// sent again, a request with a body needs GetBody, which http.NewRequest sets.
func AsRead(ctx context.Context) context.Context {
	return context.WithValue(ctx, readKey{}, true)
}

func isRead(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return req.Context().Value(readKey{}) != nil
}

// call is a Call in the making. Do's goroutine owns it; from Do's return on
// it is the body's, except for done and bytes.
type call struct {
	client    *Client
	operation string
	report    func(Call) // may be nil
	ctx       context.Context
	cancel    context.CancelFunc
	stopWatch func() bool // nil before the caller has a body
	read      bool

	start time.Time
	last  *attempt // the current request
	sent  bool     // bytes of an earlier request have left
	got   Call
	bytes atomic.Int64
	done  atomic.Bool
}

// Do sends req and returns the answer as soon as its header is there, whatever
// its status. The request's context and Options.Timeout bound the whole call,
// the body included. The caller closes the body; reading it to the end ends
// the call as well. A request's own body must not block once it is closed:
// net/http waits for who reads it.
//
// Errors name the peer and the operation, never the URL, and wrap the reason:
// the context's Err and its cause, ErrBodyTooLarge, or net's. ErrUnsent is among
// them when no byte of the request has left.
func (c *Client) Do(operation string, req *http.Request) (*http.Response, error) {
	k := c.begin(operation, req)
	resp, err := k.roundTrips(req)
	if err != nil {
		return nil, k.fail(err)
	}
	k.got.Status = resp.StatusCode
	if resp.Body == http.NoBody {
		k.end(nil)
		return resp, nil
	}
	if limit := c.o.MaxBody; limit > 0 && resp.ContentLength > limit {
		_ = resp.Body.Close() // what it says no longer matters
		return nil, k.fail(fmt.Errorf("%w: %d bytes announced, limit %d", ErrBodyTooLarge, resp.ContentLength, limit))
	}
	resp.Body = &body{rc: resp.Body, call: k, length: resp.ContentLength, limit: c.o.MaxBody}
	// A body that is neither read nor closed ends here. The function keeps
	// away from stopWatch, which is being written.
	k.stopWatch = context.AfterFunc(k.ctx, func() { k.finish(k.wrap(contextError(k.ctx))) })
	return resp, nil
}

func (c *Client) begin(operation string, req *http.Request) *call {
	k := &call{client: c, operation: operation, start: time.Now(), read: isRead(req)}
	ctx := req.Context()
	if c.o.Start != nil {
		ctx, k.report = c.o.Start(ctx, operation)
	}
	if c.o.Timeout > 0 {
		k.ctx, k.cancel = context.WithTimeout(ctx, c.o.Timeout)
	} else {
		k.ctx, k.cancel = context.WithCancel(ctx)
	}
	return k
}

// roundTrips sends req, and what follows from redirects. What http.Client would
// have nothing to do for does not pay for it.
func (k *call) roundTrips(req *http.Request) (*http.Response, error) {
	if !k.redirects() && req.Header != nil && req.URL != nil && req.URL.User == nil {
		return k.RoundTrip(req)
	}
	// A client a call is a few words, and saves a way from request to call.
	hc := http.Client{Transport: k, CheckRedirect: k.checkRedirect}
	return hc.Do(req.WithContext(k.ctx))
}

// redirects tells whether the call follows any. Writes do not: net/http would
// turn most of them into a GET, and send the others a second time.
func (k *call) redirects() bool { return k.read && k.client.o.MaxRedirects > 0 }

func (k *call) checkRedirect(next *http.Request, via []*http.Request) error {
	o := &k.client.o
	if !k.redirects() {
		return http.ErrUseLastResponse
	}
	if len(via) > o.MaxRedirects {
		return fmt.Errorf("more than %d redirects", o.MaxRedirects)
	}
	if o.CheckRedirect != nil {
		return o.CheckRedirect(next, via)
	}
	return nil
}

// fail ends the call that has no answer.
func (k *call) fail(err error) error {
	unsent := !k.sent && (k.last == nil || !k.last.sent())
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // the URL may hold what no log should
	}
	if k.ctx.Err() != nil {
		err = contextError(k.ctx)
	}
	if unsent {
		err = fmt.Errorf("%w: %w", ErrUnsent, err)
	}
	err = k.wrap(err)
	k.end(err)
	return err
}

// contextError is why ctx ended: what it says itself, and the cause unless
// that says as much.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func (k *call) wrap(err error) error {
	return fmt.Errorf("%s: %s: %w", k.client.name, k.operation, err)
}

// end ends the call on the goroutine that uses it.
func (k *call) end(err error) {
	if k.stopWatch != nil {
		k.stopWatch()
	}
	k.finish(err)
}

// finish reports the call, once.
func (k *call) finish(err error) {
	if !k.done.CompareAndSwap(false, true) {
		return
	}
	k.cancel()
	got := k.got
	got.Total = time.Since(k.start)
	got.BytesIn = k.bytes.Load()
	got.Err = err
	if k.last != nil {
		if first := k.last.addTo(&got); first > 0 {
			got.Body = got.Total - first
		}
	}
	if k.report != nil {
		k.report(got)
	}
}
