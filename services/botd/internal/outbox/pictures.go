package outbox

import (
	"sync"
	"time"
)

// bucket lets size uses through at once, and one more each time that every has
// passed. Without a size it lets all through.
type bucket struct {
	size  int
	every time.Duration

	mu   sync.Mutex
	full time.Time // when it will be full again; guarded by mu
}

// take uses one up, or tells how long until there is one.
func (b *bucket) take(now time.Time) (wait time.Duration, ok bool) {
	if b.size == 0 {
		return 0, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.full
	if full.Before(now) {
		full = now
	}
	full = full.Add(b.every)
	if over := full.Sub(now) - time.Duration(b.size)*b.every; over > 0 {
		return over, false
	}
	b.full = full
	return 0, true
}

// Picture asks for leave to upload one picture. Signal grants an account only so
// many, and refuses all that follow: better that we say so before.
func (o *Outbox) Picture() (wait time.Duration, ok bool) { return o.pictures.take(time.Now()) }
