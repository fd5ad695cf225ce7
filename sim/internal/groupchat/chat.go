// Package groupchat lets a person see and join the simulated group: a page at
// /, its events as server-sent events, the pictures the bot sent, and people
// who chat by themselves.
//
// Guarantee: what is shown is what went over the wire: a message appears when
// its frame is emitted, an answer when it is delivered, with the time between.
// A reader that is slow misses events and holds up nobody.
//
// It shows the demo group alone, and of what people do only messages, their new
// texts and deletions, and reactions.
//
// Files: chat.go (events), http.go (routes), chatter.go (synthetic people), page/.
package groupchat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"quartet/sim/internal/ring"
	"quartet/sim/internal/signalnet"
)

// Event is one thing to show.
type Event struct {
	ID          uint64    `json:"id"`
	Kind        string    `json:"kind"` // message, edit, delete, typing, stopped, reaction or unreaction
	From        string    `json:"from"` // user or bot
	Sender      string    `json:"sender,omitempty"`
	Name        string    `json:"name"`
	Text        string    `json:"text"`
	At          time.Time `json:"at"`
	Timestamp   int64     `json:"timestamp"` // ms; of the message, or of the one that gets a new text, is taken back or reacted to
	Quote       *Quote    `json:"quote,omitempty"`
	Files       int       `json:"files,omitempty"` // how many attachments a person's message has
	Pictures    []Picture `json:"pictures,omitempty"`
	Question    string    `json:"question,omitempty"`      // the command that a bot's message answers
	RoundTripMS float64   `json:"round_trip_ms,omitempty"` // from that command's frame to the delivery
}

// Quote is the message that another one quotes.
type Quote struct {
	Author    string `json:"author"`
	Text      string `json:"text"`
	Timestamp int64  `json:"timestamp"`
}

// Picture is a picture that came with a message.
type Picture struct {
	URL  string `json:"url"`
	Name string `json:"name"`
	Type string `json:"type"`
}

const (
	maxEvents     = 300
	maxEventBytes = 1 << 20
	maxOpen       = 256             // commands that wait for an answer
	openFor       = 2 * time.Minute // after that a command is taken as unanswered
)

// Chat follows the demo group.
type Chat struct {
	group  signalnet.Group
	life   string // tells this simulator's event ids from an earlier one's
	events *ring.Ring[Event]

	mu   sync.Mutex
	open []question // guarded by mu; commands not answered yet, oldest first
}

type question struct {
	text      string
	timestamp int64
	editOf    int64 // of the message that it is the new text of; an answer may quote either
	at        time.Time
}

// New makes an empty chat of the group.
func New(group signalnet.Group) *Chat {
	return &Chat{
		group: group, life: strconv.FormatInt(time.Now().UnixNano(), 36),
		events: ring.New(maxEvents, maxEventBytes, Event.size),
	}
}

// Reset forgets what was said.
func (c *Chat) Reset() {
	c.events.Clear()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = nil
}

func (e Event) size() int64 {
	n := len(e.Text) + 256
	if e.Quote != nil {
		n += len(e.Quote.Text)
	}
	return int64(n)
}

func (c *Chat) add(e Event) {
	c.events.Add(func(seq uint64) Event {
		e.ID = seq
		return e
	})
}

// Asked shows a message to the bot; it is the network's OnFrame hook.
func (c *Chat) Asked(f signalnet.Frame) {
	s := f.Spec
	if s.Group != c.group.ID {
		return
	}
	now := time.Now()
	e := Event{Kind: s.Kind(), From: "user", Sender: s.Sender, Name: s.Name, Text: s.Text, At: now, Timestamp: s.Timestamp}
	x := s.Extra
	if x == nil {
		x = &signalnet.Extra{}
	}
	switch e.Kind {
	case "edit":
		e.Timestamp = x.EditOf
	case "delete":
		e.Timestamp, e.Text = x.DeleteOf, ""
		c.add(e)
		return
	case "reaction":
		if x.Reaction.Remove {
			e.Kind = "unreaction"
		}
		e.Timestamp, e.Text, e.Sender = x.Reaction.TargetTimestamp, x.Reaction.Emoji, x.Reaction.TargetAuthor
		c.add(e)
		return
	case "message":
		e.Files = len(x.Attachments)
	default:
		return
	}
	if q := x.Quote; q != nil {
		e.Quote = &Quote{q.Author, q.Text, q.Timestamp}
	}
	if strings.HasPrefix(strings.TrimSpace(s.Text), "!") {
		c.mu.Lock()
		if len(c.open) >= maxOpen {
			c.open = append(c.open[:0], c.open[1:]...)
		}
		c.open = append(c.open, question{s.Text, s.Timestamp, x.EditOf, now})
		c.mu.Unlock()
	}
	c.add(e)
}

// Answered shows a message of the bot; it is the network's OnSent hook.
func (c *Chat) Answered(s signalnet.Sent) {
	if len(s.Groups) == 0 || s.Groups[0] != c.group.ID {
		return
	}
	e := Event{Kind: "message", From: "bot", Name: "bot", Text: s.Text, At: s.Done, Timestamp: s.Timestamp}
	if s.EditTimestamp != 0 {
		e.Kind, e.Timestamp = "edit", s.EditTimestamp
		c.add(e)
		return
	}
	if s.QuoteTimestamp != 0 {
		e.Quote = &Quote{s.QuoteAuthor, s.QuoteMessage, s.QuoteTimestamp}
	}
	if q, ok := c.take(s.QuoteTimestamp, s.Done); ok {
		e.Question = q.text
		e.RoundTripMS = float64(s.Done.Sub(q.at).Microseconds()) / 1000
	}
	for _, a := range s.Attachments {
		if strings.HasPrefix(a.ContentType, "image/") {
			e.Pictures = append(e.Pictures, Picture{URL: fmt.Sprintf("/_sim/pictures/%d", a.Picture), Name: a.Filename, Type: a.ContentType})
		}
	}
	c.add(e)
}

// take finds the command that a message answers: the one it quotes, else the
// one that has waited longest, which is a guess when answers overtake.
func (c *Chat) take(quoted int64, now time.Time) (question, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) > 0 && now.Sub(c.open[0].at) > openFor {
		c.open = c.open[1:]
	}
	for i, q := range c.open {
		if quoted == 0 || q.timestamp == quoted || q.editOf == quoted {
			c.open = append(c.open[:i:i], c.open[i+1:]...)
			return q, true
		}
	}
	return question{}, false
}

// Signed shows a typing indicator, a reaction, or that a message was taken back;
// it is the network's OnSign hook.
func (c *Chat) Signed(s signalnet.Sign) {
	kind := s.Kind
	if kind == "remote_delete" {
		kind = "delete"
	}
	if slices.Contains(s.Groups, c.group.ID) {
		c.add(Event{Kind: kind, From: "bot", Name: "bot", Text: s.Emoji, Sender: s.TargetAuthor, At: time.Now(), Timestamp: s.Timestamp})
	}
}
