package outbox

import (
	"sync"

	"quartet/services/botd/internal/transport"
)

// maxSent is how many of the last messages are known.
const maxSent = 1024

// sent are the timestamps of the last messages that went out, with where they
// went: with our account they are their names at Signal.
type sent struct {
	mu    sync.Mutex
	ring  []int64 // guarded by mu, as the rest
	next  int
	known map[int64]transport.Chat
}

func newSent() sent { return sent{known: make(map[int64]transport.Chat, maxSent)} }

func (s *sent) add(timestamp int64, chat transport.Chat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ring) < maxSent {
		s.ring = append(s.ring, timestamp)
	} else {
		delete(s.known, s.ring[s.next])
		s.ring[s.next] = timestamp
		s.next = (s.next + 1) % maxSent
	}
	s.known[timestamp] = chat
}

// Sent returns where a message of that timestamp went, if it is one of our last.
func (o *Outbox) Sent(timestamp int64) (transport.Chat, bool) {
	o.sent.mu.Lock()
	defer o.sent.mu.Unlock()
	chat, ok := o.sent.known[timestamp]
	return chat, ok
}
