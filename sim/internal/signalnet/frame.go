package signalnet

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Spec is a message that somebody is to write to the bot.
type Spec struct {
	Text      string          `json:"text"`
	Sender    string          `json:"sender"` // uuid
	Name      string          `json:"name"`
	Group     string          `json:"group"`               // internal id; empty = a direct message
	Timestamp int64           `json:"timestamp,omitempty"` // ms; 0 = when it is emitted, unique for the sender
	Device    int             `json:"device,omitempty"`    // 0 = 1
	Raw       json.RawMessage `json:"raw,omitempty"`       // a whole params object, emitted as it is
}

func (s Spec) size() int64 {
	return int64(len(s.Text)+len(s.Sender)+len(s.Name)+len(s.Group)+len(s.Raw)) + 64
}

// Frame is one notification of signal-cli.
type Frame struct {
	Spec    Spec          // Timestamp is filled in
	Account string        // whom it is for; empty = everybody
	Params  []byte        // the JSON object that a websocket carries and JSON-RPC wraps; nil when Fault is set
	Fault   string        // set: the notification is an error with this text
	Grace   time.Duration // allowance of a subscriber that drops when busy; 0 = it drops at once
}

// Line returns the frame as the line of JSON-RPC that signal-cli writes, without
// its end.
func (f Frame) Line() []byte {
	if f.Fault != "" {
		text, _ := json.Marshal(f.Fault) // a string always encodes
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"receive","error":{"code":%d,"message":%s,"data":null}}`, CodeInternal, text)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"receive","params":%s}`, f.Params)
}

type params struct {
	Account   string     `json:"account"`
	Envelope  *envelope  `json:"envelope,omitempty"`
	Exception *exception `json:"exception,omitempty"`
}

type exception struct {
	Message string `json:"message"`
	Type    string `json:"type"`
}

type envelope struct {
	Source          string       `json:"source"`
	SourceNumber    *string      `json:"sourceNumber"`
	SourceUUID      string       `json:"sourceUuid"`
	SourceName      *string      `json:"sourceName"`
	SourceDevice    int          `json:"sourceDevice"`
	Timestamp       int64        `json:"timestamp"`
	ServerReceived  int64        `json:"serverReceivedTimestamp"`
	ServerDelivered int64        `json:"serverDeliveredTimestamp"`
	DataMessage     *dataMessage `json:"dataMessage"`
}

type dataMessage struct {
	Timestamp          int64      `json:"timestamp"`
	Message            *string    `json:"message"`
	ExpiresInSeconds   int        `json:"expiresInSeconds"`
	IsExpirationUpdate bool       `json:"isExpirationUpdate"`
	ViewOnce           bool       `json:"viewOnce"`
	GroupInfo          *groupInfo `json:"groupInfo,omitempty"`
}

type groupInfo struct {
	GroupID   string  `json:"groupId"`
	GroupName *string `json:"groupName"`
	Revision  int     `json:"revision"`
	Type      string  `json:"type"`
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
		s.Timestamp = n.clock.unique(s.Sender, now)
	}
	f := Frame{Spec: s, Account: n.Number}
	p := params{Account: n.Number}
	switch {
	case n.Quirks.Take("exception_only"):
		p.Exception = &exception{Message: "invalid message structure", Type: "InvalidMessageStructureException"}
	case n.Quirks.Take("error_frames"):
		return Frame{Spec: s, Fault: "Failed to receive message: simulated"}, nil
	default:
		p.Envelope = n.envelope(s, now)
	}
	var err error
	if f.Params, err = json.Marshal(p); err != nil {
		return Frame{}, fmt.Errorf("build frame: %w", err)
	}
	return f, nil
}

func (n *Network) envelope(s Spec, now time.Time) *envelope {
	e := &envelope{
		Source: s.Sender, SourceUUID: s.Sender, SourceDevice: max(s.Device, 1),
		Timestamp: s.Timestamp, ServerReceived: now.UnixMilli(), ServerDelivered: now.UnixMilli(),
		DataMessage: &dataMessage{Timestamp: s.Timestamp, Message: &s.Text},
	}
	if s.Name != "" {
		e.SourceName = &s.Name
	}
	if !n.Quirks.On("number_null") {
		number := numberOf(s.Sender)
		e.Source, e.SourceNumber = number, &number
	}
	if s.Group != "" {
		info := &groupInfo{GroupID: s.Group, Revision: 1, Type: "DELIVER"}
		if g, known := n.GroupByID(s.Group); known {
			info.GroupName = &g.Name
		}
		e.DataMessage.GroupInfo = info
	}
	return e
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
