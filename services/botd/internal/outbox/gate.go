package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// firstPause is how long nothing goes out after Signal limited the rate and
	// did not say for how long; it doubles up to lastPause while that goes on.
	firstPause = time.Minute
	lastPause  = time.Hour

	// accountPause is how often a missing account is looked for.
	accountPause = 15 * time.Second

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

// gate is closed while nothing may go out.
type gate struct {
	mu      sync.Mutex // guards all below
	until   time.Time  // closed before that
	why     string
	missing bool // our account was not there: it has to be looked for before the gate opens
	probing bool // somebody looks
	strikes int  // how often in a row the rate was limited
}

// close closes the gate for d, or longer if it is closed for longer.
func (g *gate) close(now time.Time, d time.Duration, why string, missing bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing = g.missing || missing
	if until := now.Add(d); until.After(g.until) {
		g.until, g.why = until, why
	}
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
	pause := min(firstPause<<min(g.strikes, 10), lastPause)
	g.strikes++
	g.until, g.why = now.Add(max(pause, asked)), "Signal limits the rate of our messages"
	return g.until, true
}

// well notes that something went out.
func (g *gate) well() {
	g.mu.Lock()
	g.strikes = 0
	g.mu.Unlock()
}

// state is how long the gate stays closed, 0 when it is open. probe says that
// the caller has to look for the account, and to tell with probed.
func (g *gate) state(now time.Time) (left time.Duration, probe bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case now.Before(g.until):
		return g.until.Sub(now), false
	case !g.missing:
		return 0, false
	case g.probing:
		return time.Second, false
	}
	g.probing = true
	return 0, true
}

func (g *gate) probed(now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.probing, g.missing = false, err != nil
	if err != nil {
		g.until, g.why = now.Add(accountPause), err.Error()
	}
}

// paused is why nothing goes out, nil while it does.
func (g *gate) paused(now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.until) || g.missing {
		return &PausedError{g.until, g.why}
	}
	return nil
}

// Paused is a *PausedError while nothing goes out, else nil.
func (o *Outbox) Paused() error { return o.gate.paused(time.Now()) }

// Wait returns when messages may go out, or why ctx ended first.
func (o *Outbox) Wait(ctx context.Context) error {
	for {
		left, probe := o.gate.state(time.Now())
		switch {
		case probe:
			o.probe(ctx)
		case left == 0:
			return nil
		default:
			t := time.NewTimer(left)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return errors.Join(o.Paused(), context.Cause(ctx))
			}
		}
	}
}

// probe looks whether our account is there again.
func (o *Outbox) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := o.Signal.Check(ctx)
	o.gate.probed(time.Now(), err)
}
