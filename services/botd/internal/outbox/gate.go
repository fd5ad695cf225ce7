package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// lastPause is the longest pause that we choose: Options.RatePause, doubled and
	// doubled again.
	lastPause = time.Hour

	// accountPause is how often a missing account is looked for here, and
	// lookAgain how often whether somebody else has found it.
	accountPause = 15 * time.Second
	lookAgain    = 100 * time.Millisecond

	// lookOut is how soon those who wait notice that a pause was ended.
	lookOut = time.Second

	probeTimeout = 15 * time.Second
)

// ErrPaused is what every PausedError is.
var ErrPaused = errors.New("nothing can be sent")

// PausedError says that nothing goes out, and until when at least.
type PausedError struct {
	Until time.Time
	Why   string
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("%v until %s: %s", ErrPaused, e.Until.UTC().Format(time.RFC3339), e.Why)
}

// Is says that it is ErrPaused.
func (e *PausedError) Is(target error) bool { return target == ErrPaused }

// gate is closed while nothing may go out: until a time, or until our account was
// found.
type gate struct {
	first time.Duration // how long it is closed after the first limit

	mu      sync.Mutex // guards all below
	until   time.Time  // Signal wants nothing before that
	strikes int        // how often in a row it limited the rate
	missing bool       // our account was not there when it was last looked for
	why     string     // and for what reason
	next    time.Time  // when it is looked for again
	probing bool       // somebody looks
}

// lose closes the gate until our account was found, which is first looked for at
// next.
func (g *gate) lose(next time.Time, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.missing {
		g.missing, g.next = true, next
	}
	g.why = why
}

// looked notes what came of looking for our account. That it was not there closes
// nothing: somebody else may have found it meanwhile.
func (g *gate) looked(now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.probing = false
	switch {
	case err == nil:
		g.missing = false
	case g.missing:
		g.next, g.why = now.Add(accountPause), err.Error()
	}
}

// left notes that who looked left before there was an answer: another one looks.
func (g *gate) left() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.probing = false
}

// limit closes it after a refusal for being too fast. Of several messages that
// were under way together the first one does: closed is false for the others.
func (g *gate) limit(now time.Time, asked time.Duration) (until time.Time, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.until) {
		if later := now.Add(asked); later.After(g.until) {
			g.until = later
		}
		return g.until, false
	}
	pause := min(g.first<<min(g.strikes, 16), lastPause)
	g.strikes++
	g.until = now.Add(max(pause, asked))
	return g.until, true
}

// retry opens what a limit has closed.
func (g *gate) retry() {
	g.mu.Lock()
	g.until = time.Time{}
	g.mu.Unlock()
}

// well notes that something went out.
func (g *gate) well() {
	g.mu.Lock()
	g.strikes = 0
	g.mu.Unlock()
}

// state is how long to wait before looking at the gate again, 0 when it is open.
// probe says that the caller has to look for our account first, and to tell with
// looked or left.
func (g *gate) state(now time.Time) (left time.Duration, probe bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case now.Before(g.until):
		return g.until.Sub(now), false
	case !g.missing:
		return 0, false
	case g.probing || now.Before(g.next):
		return lookAgain, false // it may be found any time
	}
	g.probing = true
	return 0, true
}

// paused is why nothing goes out, nil while it does.
func (g *gate) paused(now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case now.Before(g.until):
		return &PausedError{g.until, "Signal limits the rate of our messages"}
	case g.missing:
		return &PausedError{g.next, g.why}
	}
	return nil
}

// Paused is a *PausedError while nothing goes out, else nil.
func (o *Outbox) Paused() error { return o.gate.paused(time.Now()) }

// Doubt closes the gate until our account was found, for which who waits looks at
// once.
func (o *Outbox) Doubt() {
	o.gate.lose(time.Now(), "Signal's server was not asked for our account yet")
}

// Retry ends a pause that Signal wanted: somebody knows better, who has solved a
// captcha.
func (o *Outbox) Retry() { o.gate.retry() }

// Found notes that the server has our account, which somebody else asked for.
func (o *Outbox) Found() { o.gate.looked(time.Now(), nil) }

// Wait returns when messages may go out, or why ctx ended first.
func (o *Outbox) Wait(ctx context.Context) error {
	for {
		left, probe := o.gate.state(time.Now())
		switch {
		case probe:
			if !o.probe(ctx) {
				return errors.Join(o.Paused(), context.Cause(ctx))
			}
		case left == 0:
			return nil
		default:
			t := time.NewTimer(min(left, lookOut))
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return errors.Join(o.Paused(), context.Cause(ctx))
			}
		}
	}
}

// probe looks whether our account is there again. It returns false when ctx ended
// before there was an answer.
func (o *Outbox) probe(ctx context.Context) bool {
	look, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := o.Signal.Check(look)
	if err != nil && ctx.Err() != nil {
		o.gate.left()
		return false
	}
	o.gate.looked(time.Now(), err)
	return true
}
