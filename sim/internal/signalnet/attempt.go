package signalnet

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Attempt is a send as the server saw it, however it ended.
type Attempt struct {
	Seq            uint64    `json:"seq"`
	Chat           string    `json:"chat"` // internal id of the group, else the recipients
	Via            string    `json:"via"`
	Begin          time.Time `json:"begin"` // the request was read
	End            time.Time `json:"end"`   // it was decided; the answer, if any, follows at once
	Delivered      bool      `json:"delivered"`
	Silent         bool      `json:"silent,omitempty"` // never answered
	Failure        string    `json:"failure,omitempty"`
	Timestamp      int64     `json:"timestamp,omitempty"`
	QuoteTimestamp int64     `json:"quote_timestamp,omitempty"`
	EditTimestamp  int64     `json:"edit_timestamp,omitempty"`
	Attachments    int       `json:"attachments"`
	Bytes          int       `json:"bytes"` // of the attachments
	MessageBytes   int       `json:"message_bytes"`
}

func (a Attempt) size() int64 { return int64(len(a.Chat)) + 200 }

// Overlaps says how many sends began while another one to their chat was in work.
type Overlaps struct {
	Attempts int64    `json:"attempts"`
	Chats    int      `json:"chats"`
	Overlaps int64    `json:"overlaps"`
	Examples []string `json:"examples"`
}

const (
	maxChats    = 10_000 // whose order is watched; sends to further ones are not looked at
	maxExamples = 10
)

// turns watches that sends to one chat come one after the other.
type turns struct {
	mu    sync.Mutex
	chats map[string]*turn // guarded by mu
	seen  Overlaps         // guarded by mu; but for Chats
}

// turn is a chat's.
type turn struct {
	working int
	last    time.Time // end of the latest send
}

func (t *turns) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := map[string]*turn{} // what is in work goes on
	for chat, c := range t.chats {
		if c.working > 0 {
			kept[chat] = c
		}
	}
	t.chats, t.seen = kept, Overlaps{}
}

func (t *turns) begin(chat string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen.Attempts++
	c := t.chats[chat]
	if c == nil {
		if len(t.chats) >= maxChats {
			return
		}
		c = &turn{}
		t.chats[chat] = c
	}
	// A request is read before its chat is known: it overlaps also with one that ended meanwhile.
	if c.working > 0 || at.Before(c.last) {
		t.seen.Overlaps++
		if len(t.seen.Examples) < maxExamples && !slices.Contains(t.seen.Examples, chat) {
			t.seen.Examples = append(t.seen.Examples, chat)
		}
	}
	c.working++
}

func (t *turns) end(chat string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.chats[chat]; c != nil && c.working > 0 {
		c.working--
		c.last = at
	}
}

// Overlaps returns what was seen since the last reset.
func (n *Network) Overlaps() Overlaps {
	n.turns.mu.Lock()
	defer n.turns.mu.Unlock()
	seen := n.turns.seen
	seen.Chats = len(n.turns.chats)
	seen.Examples = append([]string{}, seen.Examples...)
	return seen
}

// Attempts returns up to limit attempts after a number, and the number to ask after next.
func (n *Network) Attempts(after uint64, limit int) ([]Attempt, uint64) {
	return n.attempts.Since(after, limit)
}

// WaitAttempt returns when there is an attempt after the number, or ctx ends.
func (n *Network) WaitAttempt(ctx context.Context, after uint64) error {
	return n.attempts.Wait(ctx, after)
}

// chats returns what a message goes to.
func (m Message) chats() []string {
	switch {
	case len(m.Groups) > 0:
		return m.Groups
	case len(m.Recipients) == 1:
		return m.Recipients
	default:
		return []string{strings.Join(m.Recipients, ",")}
	}
}

// begin notes that a send was read.
func (n *Network) begin(at time.Time, m Message) {
	for _, chat := range m.chats() {
		n.turns.begin(chat, at)
	}
}

// end notes how a send ended.
func (n *Network) end(at time.Time, m Message, out Outcome, delivered bool) {
	now := time.Now()
	a := Attempt{
		Chat: strings.Join(m.chats(), ","), Via: m.Via, Begin: at, End: now, Delivered: delivered, Silent: out.Answer == Silent,
		Timestamp: out.Timestamp, QuoteTimestamp: m.QuoteTimestamp, EditTimestamp: m.EditTimestamp,
		Attachments: len(m.Attachments), MessageBytes: len(m.Text),
	}
	for _, file := range m.Attachments {
		a.Bytes += file.Size
	}
	if out.Failure != nil {
		a.Failure = out.Failure.Class
	}
	n.attempts.Add(func(seq uint64) Attempt {
		a.Seq = seq
		return a
	})
	for _, chat := range m.chats() {
		n.turns.end(chat, now)
	}
}
