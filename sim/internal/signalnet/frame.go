package signalnet

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Frame is one notification of signal-cli.
type Frame struct {
	Spec    Spec          // Timestamp is filled in
	Account string        // whom it is for; empty = everybody
	Params  []byte        // the JSON object that a websocket carries and JSON-RPC wraps; nil when Fault is set
	Fault   string        // set: the notification is an error with this text
	Files   []string      // ids of its attachments
	Due     time.Time     // when it should be emitted, by the schedule of its batch
	Grace   time.Duration // allowance of a subscriber that drops when busy; 0 = it drops at once
}

// Line returns the frame as the line of JSON-RPC that signal-cli writes, without
// its end; there is room for that behind it.
func (f Frame) Line() []byte {
	if f.Fault != "" {
		text, _ := json.Marshal(f.Fault) // a string always encodes
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"receive","error":{"code":%d,"message":%s,"data":null}}`, CodeInternal, text)
	}
	const head = `{"jsonrpc":"2.0","method":"receive","params":`
	line := append(make([]byte, 0, len(head)+len(f.Params)+2), head...)
	return append(append(line, f.Params...), '}')
}

// frame builds the notification for a message, as the quirks want it.
func (n *Network) frame(s Spec) (Frame, error) {
	if len(s.Raw) > 0 {
		var p params
		_ = json.Unmarshal(s.Raw, &p) // raw may be anything: then it is for everybody
		return Frame{Spec: s, Account: p.Account, Params: s.Raw}, nil
	}
	now := time.Now()
	if s.Timestamp == 0 {
		author := s.Sender
		if s.extra().Sync {
			author = "" // as what the bot sends itself
		}
		s.Timestamp = n.clock.unique(author, now.Add(-time.Duration(s.extra().Age)))
	}
	f := Frame{Spec: s, Account: n.Number}
	p := params{Account: n.Number}
	switch {
	case n.Quirks.Take("exception_only"):
		p.Exception = &exception{Message: "invalid message structure", Type: "InvalidMessageStructureException"}
	case n.Quirks.Take("error_frames"):
		return Frame{Spec: s, Fault: "Failed to receive message: simulated"}, nil
	default:
		p.Envelope, f.Files = n.envelope(s, now)
	}
	var err error
	if f.Params, err = json.Marshal(p); err != nil {
		return Frame{}, fmt.Errorf("build frame: %w", err)
	}
	return f, nil
}

// numberOf returns a number that is always the same for a sender, in the range
// that is reserved for fiction.
func numberOf(uuid string) string {
	sum := 0
	for _, c := range uuid {
		sum = (sum*31 + int(c)) % 9_999
	}
	return fmt.Sprintf("+1555011%04d", sum)
}

// clock gives out timestamps in milliseconds that no two messages of one
// author share: author and timestamp are a message's identity in Signal.
type clock struct {
	mu   sync.Mutex
	last map[string]int64 // guarded by mu; bounded by prune
}

const maxAuthors = 4096

func (c *clock) unique(author string, now time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	ts := max(now.UnixMilli(), c.last[author]+1)
	if _, known := c.last[author]; !known && len(c.last) >= maxAuthors {
		c.prune(now.UnixMilli())
	}
	c.last[author] = ts
	return ts
}

// prune forgets authors whose next timestamp is the present one anyway. Should
// more than maxAuthors be ahead of the time, their uniqueness is given up.
func (c *clock) prune(now int64) {
	for author, ts := range c.last {
		if ts < now {
			delete(c.last, author)
		}
	}
	if len(c.last) >= maxAuthors {
		clear(c.last)
	}
}
