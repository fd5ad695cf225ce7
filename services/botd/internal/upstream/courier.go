package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"quartet/kit/pool"
)

// maxRedirects is how many redirects one request follows.
const maxRedirects = 3

// StatusError is returned for an answer whose status is none of success.
type StatusError struct{ Status int }

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP status %d", e.Status) }

// courier fetches from any number of hosts, each of which is left alone while
// it wants that or is down. It does not ask a second time.
//
// It follows redirects itself: each host on the way must be among those that may
// be asked, has its own gate, and does not get headers meant for another.
type courier struct {
	operation string // for the pool
	userAgent string
	http      *pool.Client
	gates     gates
}

// fetch returns the body of the answer to r, of at most limit bytes.
func (c *courier) fetch(ctx context.Context, r FetchRequest, accept string, limit int64) ([]byte, error) {
	u, err := webAddress(r.URL)
	if err != nil {
		return nil, err
	}
	s := step{method: r.Method, url: u, header: r.Header, body: r.Body, accept: accept, limit: limit}
	for redirects := 0; ; redirects++ {
		if !r.Hosts.Allow(s.url) {
			return nil, fmt.Errorf("%.100q: %w", s.url.Host, ErrHost)
		}
		got, err := c.take(ctx, s)
		switch {
		case err != nil:
			return nil, err
		case got.next == nil:
			return got.body, nil
		case redirects == maxRedirects:
			return nil, fmt.Errorf("more than %d redirects", maxRedirects)
		case s.url.Scheme == "https" && got.next.Scheme != "https":
			return nil, errors.New("a redirect from https to http")
		case s.url.Host != got.next.Host:
			s.header = nil // may have a key
		}
		s.url = got.next
	}
}

// step is one request on the way.
type step struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
	accept string
	limit  int64
}

// outcome of a step: what came, or where it is.
type outcome struct {
	body []byte
	next *url.URL
}

// take takes one step, through its host's gate.
func (c *courier) take(ctx context.Context, s step) (got outcome, err error) {
	g := c.gates.of(s.url.Host, time.Now())
	trial, err := g.enter(time.Now())
	if err != nil {
		return outcome{}, err
	}
	v := failed // also after a panic
	defer func() { g.leave(time.Now(), trial, v) }()
	got, err = c.exchange(ctx, s)
	if late, ok := errors.AsType[*postponement](err); ok {
		g.postpone(time.Now().Add(late.wait), late.why)
	}
	v = judgeHost(ctx, err)
	return got, err
}

// judgeHost tells what an error of exchange says about the host.
func judgeHost(ctx context.Context, err error) verdict {
	_, late := errors.AsType[*postponement](err)
	status, told := errors.AsType[*StatusError](err)
	switch {
	case err == nil, late, told && status.Status < 500, errors.Is(err, ErrTooLarge):
		return answered
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(err, ErrPrivateAddress):
		return abandoned
	}
	return failed
}

// exchange sends one request and reads what comes.
func (c *courier) exchange(ctx context.Context, s step) (outcome, error) {
	req, err := c.request(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	resp, err := c.http.Do(c.operation, req)
	if errors.Is(err, pool.ErrBodyTooLarge) {
		return outcome{}, fmt.Errorf("%w: %w", ErrTooLarge, err)
	} else if err != nil {
		return outcome{}, err
	}
	defer resp.Body.Close()
	if late := postponed(resp); late != nil {
		return outcome{}, late
	}
	switch {
	case isRedirect(resp) && (req.Method == http.MethodGet || req.Method == http.MethodHead):
		next, err := resp.Location()
		if err == nil {
			next, err = webAddress(next.String())
		}
		if err != nil {
			return outcome{}, errors.New("a redirect to no web address")
		}
		return outcome{next: next}, nil
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return outcome{}, &StatusError{resp.StatusCode}
	}
	body, err := readBody(resp, s.limit)
	return outcome{body: body}, err
}

func (c *courier) request(ctx context.Context, s step) (*http.Request, error) {
	var body io.Reader
	if len(s.body) > 0 {
		body = bytes.NewReader(s.body)
	}
	req, err := http.NewRequestWithContext(ctx, s.method, s.url.String(), body)
	if err != nil {
		return nil, errors.New("no request can be made of this method and address")
	}
	req.Header.Set("User-Agent", c.userAgent)
	if s.accept != "" {
		req.Header.Set("Accept", s.accept)
	}
	for name, values := range s.header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return req, nil
}

func isRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// readBody reads a body of at most limit bytes, decompressed, into one piece of
// the right size when the server told it.
func readBody(resp *http.Response, limit int64) ([]byte, error) {
	tooLarge := fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	if resp.ContentLength > limit {
		return nil, tooLarge
	}
	if resp.ContentLength >= 0 {
		data := make([]byte, resp.ContentLength)
		if _, err := io.ReadFull(resp.Body, data); err != nil {
			return nil, err
		}
		return data, nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, tooLarge
	}
	return data, nil
}
