package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"quartet/kit/pool"
)

// deafMargin is how much longer than its transport's longest silence the bot
// waits for a sign of life before it calls itself not ready.
const deafMargin = 15 * time.Second

// accountsCache keeps readiness probes, however many there are, from asking
// signal-cli more than once in a while.
var accountsCache = pool.CacheOptions{TTL: 15 * time.Second, NegativeTTL: 2 * time.Second, FetchTimeout: checkTimeout, MaxEntries: 1}

// link is the state of the transport.
type link struct {
	maxSilence time.Duration // 0: silence means nothing

	mu    sync.Mutex
	held  int       // frames that came and are not taken in yet; guarded by mu, as all below
	taken time.Time // what came until then is
	open  bool
	last  time.Time     // of a sign of life
	since time.Time     // when it broke; zero for never
	why   error         // why it is not open
	lost  time.Duration // in gaps that are over
	told  time.Duration // what gaps said last
}

// newLink returns one that is not open yet; since is when an earlier life of the
// bot last received, the zero time for never.
func newLink(maxSilence time.Duration, since time.Time) *link {
	return &link{maxSilence: maxSilence, since: since, why: errors.New("not connected yet")}
}

// heard is until when nothing can have been missed, the zero time for never: a
// crash would lose what is not taken in yet.
func (l *link) heard(now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.open:
		return l.since
	case l.held > 0:
		return l.taken
	case l.maxSilence == 0:
		return now // it says nothing between frames, and is there
	}
	return l.last
}

// up marks the transport open. It returns how long it was not, 0 for the first
// time ever.
func (l *link) up(now time.Time) (gap time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.since.IsZero() {
		gap = max(0, now.Sub(l.since))
	}
	l.open, l.last, l.why = true, now, nil
	l.lost += gap
	return gap
}

// gaps is how long it was not open in all, with the gap that it is in: an outage
// must be seen while it lasts. It never goes back. What a stop cuts off is the next
// life's to count.
func (l *link) gaps(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.lost
	if !l.open && !l.since.IsZero() && !errors.Is(l.why, errStopping) {
		all += now.Sub(l.since)
	}
	l.told = max(l.told, all)
	return l.told
}

// down marks it broken. Frames may be lost from the last sign of
// life on, so the gap is counted from there.
func (l *link) down(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open {
		l.since = l.last
	}
	l.open, l.why = false, why
}

func (l *link) alive(now time.Time) {
	l.mu.Lock()
	l.last = now
	l.mu.Unlock()
}

// hold and letGo stand around the taking in of a frame, one frame after another:
// while one waits for room, no sign of life can be seen. hold returns when the
// frame came, for letGo.
func (l *link) hold() (came time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	came = time.Now()
	if l.held == 0 {
		l.taken = came
	}
	l.held++
	return came
}

func (l *link) letGo(came, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held--
	l.taken, l.last = came, now
}

// check returns why nothing can be received, or nil.
func (l *link) check(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open {
		return fmt.Errorf("not receiving: %w", l.why)
	}
	if quiet := now.Sub(l.last); l.maxSilence > 0 && l.held == 0 && quiet > l.maxSilence+deafMargin {
		return fmt.Errorf("not receiving: nothing has come from the server for %s", quiet.Round(time.Second))
	}
	return nil
}

// Ready returns why the bot cannot serve, or nil: it must be subscribed, must
// have heard from the server lately, be able to keep what it takes and to send,
// and its account must be there.
func (b *Bot) Ready(ctx context.Context) error {
	if err := b.link.check(time.Now()); err != nil {
		return err
	}
	if err := errors.Join(b.Store.Err(), b.broken()); err != nil {
		return err
	}
	if err := b.Out.Paused(); err != nil {
		return err
	}
	_, err := b.accounts.Get(ctx, b.Number)
	return err
}
