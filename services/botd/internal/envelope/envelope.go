// Package envelope reads what Signal sends: it turns one frame of
// signal-cli-rest-api's websocket, or one params object of signal-cli's
// JSON-RPC, into the message a bot answers.
//
// It is pure: bytes in, values out, no clock, no network, no log. Every field
// of a frame may be missing or null and unknown ones are passed over, because
// that is what the servers do; a known one of another type makes it no frame.
//
// A frame is walked over once, and all of it is checked: what encoding/json
// refuses is refused. That is not what decodes it because of the time: most
// frames are noise. This way one costs three allocations at the most, and one
// more for each list that it has.
//
//	envelope.go  the message and its kinds
//	frame.go     what is wanted of a frame, and where it stands there
//	data.go      messages, edits and deletes; other.go what is none of them
//	list.go      their lists
//	scan.go      JSON, walked over; quoted.go its strings
//	text.go      strings out of them
//	group.go     the two spellings of a group's id
package envelope

import (
	"errors"
	"fmt"

	"quartet/services/botd/internal/asked"
)

// Kind says what a frame carries.
type Kind string

// The kinds of frame. KindText can hold a command, KindEdit one that was mended.
const (
	KindText      Kind = "text"      // a data message with text
	KindOther     Kind = "other"     // a data message without: reaction, picture, sticker, timer
	KindGroup     Kind = "group"     // a group's members or title changed
	KindEdit      Kind = "edit"      // an earlier message was changed: its new text, whole
	KindDelete    Kind = "delete"    // an earlier message was deleted by its author
	KindSync      Kind = "sync"      // sent by another device of our own account
	KindReceipt   Kind = "receipt"   // delivered, read, viewed
	KindTyping    Kind = "typing"    // somebody types, or stopped
	KindCall      Kind = "call"      // a call
	KindStory     Kind = "story"     // a story
	KindException Kind = "exception" // the server could not decrypt or decode it
	KindEmpty     Kind = "empty"     // an envelope with nothing in it
)

// Kinds lists every kind, for who counts by kind.
func Kinds() []Kind {
	return []Kind{
		KindText, KindOther, KindGroup, KindEdit, KindDelete, KindSync, KindReceipt,
		KindTyping, KindCall, KindStory, KindException, KindEmpty,
	}
}

// Message is one message as the bot sees it. It is also how one is kept on
// disk, so what is empty takes no room there.
type Message struct {
	Kind    Kind   `json:",omitempty"`
	Account string `json:",omitempty"` // our own number, as registered

	Sender     string `json:",omitempty"` // the author's uuid: the only identity that stays
	Number     string `json:",omitempty"` // the author's number; often unknown
	Name       string `json:",omitempty"` // the author's profile name; may be empty
	Device     int    `json:",omitempty"` // the author's device
	Timestamp  int64  `json:",omitempty"` // the sender's clock, milliseconds; with Sender it names the message
	ServerTime int64  `json:",omitempty"` // when Signal's server took it, milliseconds; 0 when that is not told

	Text        string          `json:",omitempty"`
	GroupID     string          `json:",omitempty"` // internal group id (base64 of 32 bytes); empty in a direct chat
	GroupName   string          `json:",omitempty"` // the group's title; may be empty
	To          string          `json:",omitempty"` // of KindSync in a direct chat: whom our other device wrote to
	Mentions    []asked.Mention `json:",omitempty"`
	Attachments []string        `json:",omitempty"` // ids of what was sent along, at most 32

	Edits    int64   `json:",omitempty"` // the Timestamp of the message that this one changes; 0 when it changes none
	Deletes  int64   `json:",omitempty"` // the Timestamp of the message that this one deletes; 0 when it deletes none
	Receipts []int64 `json:",omitempty"` // of KindReceipt: the Timestamps of messages that came to the sender, the first 256 of them
}

// ErrFrame marks bytes that are no frame.
var ErrFrame = errors.New("not a frame of the Signal API")

// Parse reads one frame. Frames that carry only an exception or an error are
// KindException and no error: the server reports somebody else's fault with them.
// The error wraps ErrFrame when raw is not a JSON object of the expected shape.
func Parse(raw []byte) (Message, error) {
	var f frame
	kind, err := f.scan(raw)
	if err != nil {
		return Message{}, err
	}
	return f.message(kind), nil
}

// scan finds what is wanted of a frame.
func (f *frame) scan(raw []byte) (Kind, error) {
	s := scanner{b: raw}
	f.read(&s)
	switch {
	case s.fault != 0:
		return "", fmt.Errorf("%w: byte %d of %d is not as expected", ErrFrame, s.fault, len(raw))
	case f.envelope.is:
		return f.envelope.kind(), nil
	case f.exception || len(f.fault) > 0:
		return KindException, nil
	}
	return "", fmt.Errorf("%w: no envelope", ErrFrame)
}

// kind is what the envelope carries. A frame has one of them; a data message
// wins should a server ever send two.
func (e *body) kind() Kind {
	switch {
	case e.data.is:
		return e.data.kind()
	case e.edit.is:
		return KindEdit
	case e.sync.is:
		return KindSync
	case e.receipt.is:
		return KindReceipt
	case e.typing:
		return KindTyping
	case e.call:
		return KindCall
	case e.story:
		return KindStory
	}
	return KindEmpty
}

func (d *data) kind() Kind {
	switch {
	case string(d.group.kind) == "UPDATE":
		return KindGroup
	case d.deletes != 0:
		return KindDelete
	case len(d.message) > 0:
		return KindText
	}
	return KindOther
}

// message makes a message out of what was found.
func (f *frame) message(kind Kind) Message {
	e := &f.envelope
	d, edits := e.content(kind)
	sender := e.uuid
	if len(sender) == 0 {
		sender = e.source // old servers name only this
	}
	// Author and group are kept for long, as keys, so they keep nothing else.
	var author, group, t texts
	t.Grow(len(f.account) + len(e.number) + len(e.name) + len(e.sync.to()) + len(d.message) + len(d.group.name) + d.mentions.bytes + d.attachments.bytes)
	m := Message{
		Kind: kind, Account: t.take(f.account),
		Sender: author.take(sender), Number: t.take(e.number), Name: t.take(e.name), Device: int(e.device),
		Timestamp: e.timestamp, ServerTime: e.received,
		Text: t.take(d.message), GroupID: group.take(d.group.id), GroupName: t.take(d.group.name), To: t.take(e.sync.to()),
		Mentions: t.takeMentions(&d.mentions), Attachments: t.takeIDs(&d.attachments),
		Edits: edits, Deletes: d.deletes,
	}
	if d.timestamp != 0 {
		m.Timestamp = d.timestamp
	}
	if kind == KindReceipt {
		m.Receipts = takeNumbers(&e.receipt.timestamps)
	}
	return m
}

// content is the data message that a frame of this kind has, and the timestamp
// of the message that it edits; an empty one for none.
func (e *body) content(kind Kind) (d *data, edits int64) {
	switch {
	case kind == KindEdit:
		return &e.edit.data, e.edit.target
	case kind == KindSync && e.sync.edit.is:
		return &e.sync.edit.data, e.sync.edit.target
	case kind == KindSync:
		return &e.sync.sent, 0
	}
	return &e.data, 0
}

// to is whom our other device wrote to, by the best name there is.
func (y *synced) to() []byte {
	for _, name := range [][]byte{y.uuid, y.number} {
		if len(name) > 0 {
			return name
		}
	}
	return y.destination
}
