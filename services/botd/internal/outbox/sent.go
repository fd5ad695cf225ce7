package outbox

import (
	"hash/maphash"
	"sync"

	"quartet/services/botd/internal/transport"
)

// maxSent is how many of the last messages are known.
const maxSent = 1024

// sent are the timestamps of the last messages that went out, which with our
// account are their names at Signal, with where they went and what they said.
type sent struct {
	seed maphash.Seed

	mu    sync.Mutex
	ring  []int64 // guarded by mu, as the rest
	next  int
	known map[int64]words
}

// words are what a message said, and where.
type words struct {
	chat transport.Chat
	hash uint64 // of the text
}

func newSent() *sent {
	return &sent{seed: maphash.MakeSeed(), known: make(map[int64]words, maxSent)}
}

func (s *sent) add(timestamp int64, chat transport.Chat, text string) {
	w := words{chat, maphash.String(s.seed, text)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ring) < maxSent {
		s.ring = append(s.ring, timestamp)
	} else {
		delete(s.known, s.ring[s.next])
		s.ring[s.next] = timestamp
		s.next = (s.next + 1) % maxSent
	}
	s.known[timestamp] = w
}

// Sent reports whether a message of that timestamp is one of our last.
func (o *Outbox) Sent(timestamp int64) bool {
	o.sent.mu.Lock()
	defer o.sent.mu.Unlock()
	_, ok := o.sent.known[timestamp]
	return ok
}

// Echo reports whether a message is one of our last that came back. Others may
// write to a chat in the same millisecond, but not the same.
func (o *Outbox) Echo(timestamp int64, chat transport.Chat, text string) bool {
	o.sent.mu.Lock()
	w, ok := o.sent.known[timestamp]
	o.sent.mu.Unlock()
	return ok && w == words{chat, maphash.String(o.sent.seed, text)}
}
