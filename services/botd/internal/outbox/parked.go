package outbox

import (
	"maps"
	"sync"
	"time"

	"quartet/services/botd/internal/transport"
)

const (
	// parkedFor is how long a chat that refused us is not written to, unless it
	// changes or takes a message: what people there ask for would be fetched for
	// nothing.
	parkedFor = 10 * time.Minute

	maxParked = 1024
)

// parked are chats that cannot be written to.
type parked struct {
	mu    sync.Mutex
	until map[transport.Chat]time.Time // guarded by mu
}

func (p *parked) park(chat transport.Chat, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = make(map[transport.Chat]time.Time)
	}
	maps.DeleteFunc(p.until, func(_ transport.Chat, until time.Time) bool { return !now.Before(until) })
	if len(p.until) < maxParked {
		p.until[chat] = now.Add(parkedFor)
	}
}

// Unpark takes it back: something happened after which the chat may take messages
// again.
func (o *Outbox) Unpark(chat transport.Chat) {
	o.parked.mu.Lock()
	defer o.parked.mu.Unlock()
	delete(o.parked.until, chat)
}

// Parked reports whether a chat lately could not be written to, for good: we
// are no member of it, or nobody of that name is registered.
func (o *Outbox) Parked(chat transport.Chat) bool {
	o.parked.mu.Lock()
	defer o.parked.mu.Unlock()
	return time.Now().Before(o.parked.until[chat])
}
