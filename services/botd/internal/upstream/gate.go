package upstream

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrNotNow is what every NotNowError is.
var ErrNotNow = errors.New("not to be asked now")

// NotNowError is returned, without asking, while an API is left alone: because
// it wants that, or because it failed too often in a row.
type NotNowError struct {
	Until time.Time // when it may be asked again
	Why   string
}

func (e *NotNowError) Error() string {
	return fmt.Sprintf("%v until %s: %s", ErrNotNow, e.Until.UTC().Format(time.RFC3339), e.Why)
}

// Is says that it is ErrNotNow.
func (e *NotNowError) Is(target error) bool { return target == ErrNotNow }

const (
	// maxFailures in a row are taken for an outage. Fewer happen by chance. Whose
	// questions failed is not looked at: a command may have one question only, and
	// its server is to be left alone too. The bot has who failed wait, so nobody
	// alone does it in a moment.
	maxFailures = 5
	// outage is how long an API is left alone then, before one request tries it.
	outage = 30 * time.Second
)

// gate keeps requests from an API that wants none: until the time that it told,
// and, as a circuit breaker, while it is down. A time that was told and failures
// are apart, because an API that asks for patience is well.
type gate struct {
	mu       sync.Mutex
	told     time.Time // it told not to ask before
	why      string    // and for what reason
	failures int       // in a row
	open     time.Time // with maxFailures, until when nobody asks; then one does
}

// verdict is what came of one request.
type verdict int

const (
	answered  verdict = iota // sensibly, be it with a refusal
	failed                   // it is down, or answers nonsense
	abandoned                // the caller left, which says nothing about it
)

// check returns a NotNowError when the API is to be left alone.
func (g *gate) check(now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusal(now)
}

// enter begins a request, or returns a NotNowError. trial says that the request
// is the one that tries an API that was down: meanwhile, and for as long as an
// outage lasts should it hang, the others are refused.
func (g *gate) enter(now time.Time) (trial bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.refusal(now); err != nil {
		return false, err
	}
	if g.failures >= maxFailures {
		g.open = now.Add(outage)
		return true, nil
	}
	return false, nil
}

// refusal is nil when the API may be asked. g.mu is held.
func (g *gate) refusal(now time.Time) error {
	switch {
	case now.Before(g.told):
		return &NotNowError{Until: g.told, Why: g.why}
	case g.failures >= maxFailures && now.Before(g.open):
		return &NotNowError{Until: g.open, Why: fmt.Sprintf("%d failures in a row", g.failures)}
	}
	return nil
}

// leave ends a request that enter began.
func (g *gate) leave(now time.Time, trial bool, v verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case v == answered:
		g.failures = 0
	case v == failed:
		if g.failures++; g.failures >= maxFailures {
			g.open = now.Add(outage)
		}
	case trial:
		g.open = now // the next one tries
	}
}

// postpone notes that the API wants to be left alone until then.
func (g *gate) postpone(until time.Time, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until.After(g.told) {
		g.told, g.why = until, why
	}
}
