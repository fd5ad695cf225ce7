package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"quartet/kit/budget"
	"quartet/kit/pool"
)

// answerLimit bounds an API's answer, decompressed: a search has a few kilobytes.
const answerLimit = 1 << 20

const (
	// defaultWait is how long an API is left alone that does not say how long.
	// It is also the least for MediaWiki's maxlag, which asks for it.
	defaultWait = 5 * time.Second
	// maxWait bounds what an API may ask for: a mistake there must not end a
	// command for years.
	maxWait = time.Hour
	// patience is the longest wait inside a request; and askTime what must be
	// left of the request's time after it.
	patience = 10 * time.Second
	askTime  = time.Second
)

// postponement is an API's answer that it wants to be asked later.
type postponement struct {
	wait time.Duration
	why  string
}

func (p *postponement) Error() string {
	return fmt.Sprintf("%s, to be asked again in %v", p.why, p.wait)
}

// asker asks one API, by the manners that such APIs want: it waits when told
// to, leaves it alone when it is down, and asks a second time once at most.
type asker struct {
	operation string // for the pool
	doing     string // for errors
	api       *pool.Client
	series    *budget.Budget // one request at a time; nil for any number
	gate      gate
	waiting   atomic.Bool // somebody waits inside a request; one is enough
}

// ask sends req, which has no body, and gives the body of a 200 to read, which
// may return a *postponement, ErrNoPicture, or what is wrong with the answer.
func (a *asker) ask(req *http.Request, read func(resp *http.Response, body []byte) error) error {
	err := a.once(req, read)
	late, ok := errors.AsType[*postponement](err)
	if ok && a.wait(req.Context(), late.wait) {
		err = a.once(req, read)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.doing, err)
	}
	return nil
}

// wait sits a postponement out, if there is time for it and nobody else does.
func (a *asker) wait(ctx context.Context, d time.Duration) bool {
	deadline, bounded := ctx.Deadline()
	if d > patience || bounded && time.Until(deadline) < d+askTime || !a.waiting.CompareAndSwap(false, true) {
		return false
	}
	defer a.waiting.Store(false)
	return sit(ctx, d)
}

// sit waits; false when ctx ended before.
func sit(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// once asks once.
func (a *asker) once(req *http.Request, read func(*http.Response, []byte) error) error {
	ctx := req.Context()
	if a.series != nil {
		// Whoever cannot ask anyway does not queue for it.
		if err := a.gate.check(time.Now()); err != nil {
			return err
		}
		if err := a.series.Take(ctx, 1); err != nil {
			return fmt.Errorf("wait for the request before: %w", err)
		}
		defer a.series.Give(1)
	}
	trial, err := a.gate.enter(time.Now())
	if err != nil {
		return err
	}
	v := failed // also when read panics
	defer func() { a.gate.leave(time.Now(), trial, v) }()
	err = a.exchange(req, read)
	if late, ok := errors.AsType[*postponement](err); ok {
		a.gate.postpone(time.Now().Add(late.wait), late.why)
	}
	v = judge(ctx, err)
	return err
}

// judge says what an error of exchange tells about the API.
func judge(ctx context.Context, err error) verdict {
	_, late := errors.AsType[*postponement](err)
	_, refused := errors.AsType[*refusalError](err)
	switch {
	case err == nil, late, refused, errors.Is(err, ErrNoPicture):
		return answered
	case errors.Is(ctx.Err(), context.Canceled):
		return abandoned
	}
	return failed
}

// refusalError is an API's well-formed answer that it does not do what was asked.
// It has the code only: what an API says beside it may repeat what people typed,
// which no log should have.
type refusalError struct{ code string }

func (e *refusalError) Error() string { return fmt.Sprintf("refused: %.50q", e.code) }

// exchange sends req and reads what comes.
func (a *asker) exchange(req *http.Request, read func(*http.Response, []byte) error) error {
	resp, err := a.api.Do(a.operation, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if late := postponed(resp); late != nil {
		return late
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit+1))
	if err != nil {
		return err
	}
	if len(body) > answerLimit {
		return fmt.Errorf("an answer of more than %d bytes", answerLimit)
	}
	return read(resp, body)
}

// postponed is nil for an answer whose status does not ask for patience.
func postponed(resp *http.Response) *postponement {
	late := resp.Header.Get("Retry-After")
	switch status := resp.StatusCode; {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && late != "":
		return &postponement{wait: retryAfter(late, time.Now()), why: fmt.Sprintf("HTTP status %d", status)}
	}
	return nil
}

// retryAfter reads the header of that name: seconds, or a date. It is at least
// a second and at most maxWait.
func retryAfter(value string, now time.Time) time.Duration {
	d := defaultWait
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		d = date.Sub(now)
	}
	return min(max(d, time.Second), maxWait)
}
