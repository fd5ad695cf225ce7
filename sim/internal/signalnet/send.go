package signalnet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"quartet/sim/internal/stopwatch"
)

// maxTextBytes is what Signal carries as text: what is longer is uploaded as an attachment.
const maxTextBytes = 2000

// Attachment is a file that came with a send.
type Attachment struct {
	ContentType string `json:"contentType"`
	Filename    string `json:"filename"`
	Size        int    `json:"bytes"`
	SHA256      string `json:"sha256"`
	Picture     uint64 `json:"picture,omitempty"` // number under which the simulator serves it, while it keeps it

	bytes []byte // moved to the ring of pictures by Send
}

// NewAttachment describes a file. Its type is guessed from the content, as
// signal-cli does; what the caller says about it does not matter.
func NewAttachment(filename string, content []byte) Attachment {
	sum := sha256.Sum256(content)
	kind, _, _ := strings.Cut(http.DetectContentType(content), ";")
	return Attachment{ContentType: kind, Filename: filename, Size: len(content), SHA256: hex.EncodeToString(sum[:]), bytes: content}
}

// Mention is a mention in a sent text; start and length are UTF-16 units.
type Mention struct {
	Start  int    `json:"start"`
	Length int    `json:"length"`
	Author string `json:"author"`
}

// Message is what a caller asks to be sent, after its surface validated it.
type Message struct {
	Via            string       `json:"via"` // rest or rpc
	Number         string       `json:"number"`
	Recipients     []string     `json:"recipients"`       // as the caller wrote them
	Groups         []string     `json:"groups,omitempty"` // internal ids
	Text           string       `json:"message"`
	Attachments    []Attachment `json:"attachments"`
	QuoteTimestamp int64        `json:"quote_timestamp,omitempty"`
	QuoteAuthor    string       `json:"quote_author,omitempty"`
	QuoteMessage   string       `json:"quote_message,omitempty"`
	Mentions       []Mention    `json:"mentions,omitempty"`
	EditTimestamp  int64        `json:"edit_timestamp,omitempty"`
	TextMode       string       `json:"text_mode,omitempty"`
	Sticker        string       `json:"sticker,omitempty"`
	NotifySelf     bool         `json:"notify_self"`
}

// Sent is a delivered message, in the order of delivery.
type Sent struct {
	Seq       uint64    `json:"seq"`
	At        time.Time `json:"at"`        // the call was read
	Done      time.Time `json:"done"`      // it was delivered; the answer, if any, follows at once
	Timestamp int64     `json:"timestamp"` // ms; the message's identity
	Message
}

func (s Sent) size() int64 {
	n := len(s.Text) + len(s.QuoteMessage) + 256
	for _, r := range s.Recipients {
		n += len(r)
	}
	for _, a := range s.Attachments {
		n += len(a.Filename) + 160
	}
	return int64(n)
}

// Picture is an attachment that the simulator keeps to show.
type Picture struct {
	Seq         uint64
	ContentType string
	Bytes       []byte
}

// Picture returns a kept attachment by its number; false when it is gone.
func (n *Network) Picture(seq uint64) (Picture, bool) {
	if seq == 0 {
		return Picture{}, false
	}
	found, _ := n.pictures.Since(seq-1, 1)
	if len(found) == 0 || found[0].Seq != seq {
		return Picture{}, false
	}
	return found[0], true
}

// Sent returns up to limit deliveries after a number, and the number to ask after next.
func (n *Network) Sent(after uint64, limit int) ([]Sent, uint64) { return n.sent.Since(after, limit) }

// WaitSent returns when there is a delivery after the number, or ctx ends.
func (n *Network) WaitSent(ctx context.Context, after uint64) error { return n.sent.Wait(ctx, after) }

// Answer says how a call ends for its caller.
type Answer int

// The ends of a call.
const (
	Told   Answer = iota // answered
	Silent               // never answered
	Cut                  // the connection breaks in the middle of the answer
)

// Outcome is how a send ended.
type Outcome struct {
	Timestamp int64    // set when delivered
	Failure   *Failure // set when the answer is an error, delivered or not
	Missed    string   // the one recipient that was not reached; empty = none
	Answer    Answer
}

// Send plays one send, begun at: it takes its time and delivers the message,
// unless a quirk decides otherwise. The caller's own disappearance does not
// stop it, so ctx should be the server's.
func (n *Network) Send(ctx context.Context, at time.Time, m Message) Outcome {
	n.SendsReceived.Add(1)
	n.SendsPending.Add(1)
	defer n.SendsPending.Add(-1)
	n.begin(at, m)
	n.answered(at, m)
	n.keep(m.Attachments)
	out, delivered := n.play(ctx, at, m)
	n.end(at, m, out, delivered)
	return out
}

func (n *Network) play(ctx context.Context, at time.Time, m Message) (out Outcome, delivered bool) {
	v := n.judge(m)
	operation := SendText
	if len(m.Attachments) > 0 || len(m.Text) > maxTextBytes {
		operation = SendAttachment
	}
	daemon := n.daemon()
	if n.Latency.Wait(ctx, operation, at) != nil {
		return Outcome{Answer: Silent}, false
	}
	if v.Failure != nil {
		n.countFailed(v.Failure.Class)
	}
	if v.lost {
		return v.Outcome, false
	}
	v.Timestamp = n.record(at, m)
	if v.Failure == nil && m.Via == "rest" {
		v.Answer = n.restAnswer(v.Answer, daemon, time.Since(at))
	}
	return v.Outcome, true
}

// restAnswer says whether REST still gets the daemon's answer to a delivered send.
func (n *Network) restAnswer(answer Answer, daemon <-chan struct{}, took time.Duration) Answer {
	select {
	case <-daemon:
		return Silent // the connection it was asked over is gone
	default:
	}
	if took < time.Millisecond && n.Quirks.On("lost_response") && n.chance() < 1.0/3 {
		return Silent
	}
	return answer
}

// keep moves the files to the bounded ring before the send takes its time, so
// that slow sends with attachments do not pile up in memory.
func (n *Network) keep(files []Attachment) {
	for i := range files {
		a := &files[i]
		a.Picture = n.pictures.Add(func(seq uint64) Picture { return Picture{seq, a.ContentType, a.bytes} })
		a.bytes = nil
	}
}

// record delivers the message: from here on the chat has it.
func (n *Network) record(at time.Time, m Message) int64 {
	done := time.Now()
	timestamp := n.clock.unique("", done)
	n.Sends.Add(1)
	n.sent.Add(func(seq uint64) Sent {
		s := Sent{Seq: seq, At: at, Done: done, Timestamp: timestamp, Message: m}
		if n.OnSent != nil {
			n.OnSent(s) // under the ring's lock, so that the hook sees the log's order
		}
		return s
	})
	n.acknowledge(m, timestamp)
	return timestamp
}

// answered stops the watch for the question that a message answers.
func (n *Network) answered(at time.Time, m Message) {
	if m.EditTimestamp != 0 {
		return // a new text of an answer is no answer
	}
	for _, chat := range m.chats() {
		n.Watch.Answer(stopwatch.Answer{Chat: chat, Author: m.QuoteAuthor, Quotes: m.QuoteTimestamp, At: at})
	}
}

func (n *Network) daemon() <-chan struct{} {
	n.daemonMu.Lock()
	defer n.daemonMu.Unlock()
	return n.daemonGone
}

// DropDaemon breaks the connection between REST and signal-cli and makes a new
// one: what is pending is delivered and never answered.
func (n *Network) DropDaemon() {
	n.daemonMu.Lock()
	defer n.daemonMu.Unlock()
	close(n.daemonGone)
	n.daemonGone = make(chan struct{})
}
