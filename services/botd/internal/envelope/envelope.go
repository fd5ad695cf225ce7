// Package envelope reads what Signal sends: it turns one frame of
// signal-cli-rest-api's websocket, or one params object of signal-cli's
// JSON-RPC, into the message a bot answers.
//
// It is pure: bytes in, values out, no clock, no network, no log. Every field
// of a frame may be missing or null and unknown ones are passed over, because
// that is what the servers do.
package envelope

import (
	"encoding/json"
	"errors"
	"fmt"

	"quartet/services/botd/internal/asked"
)

// Kind says what a frame carries.
type Kind string

// The kinds of frame. Only KindText can hold a command.
const (
	KindText      Kind = "text"      // a data message with text
	KindOther     Kind = "other"     // a data message without: reaction, picture, sticker, timer
	KindGroup     Kind = "group"     // a group's members or title changed
	KindEdit      Kind = "edit"      // an earlier message was changed
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
	return []Kind{KindText, KindOther, KindGroup, KindEdit, KindSync, KindReceipt, KindTyping, KindCall, KindStory, KindException, KindEmpty}
}

// Message is one message as the bot sees it.
type Message struct {
	Kind    Kind
	Account string // our own number, as registered

	Sender    string // the author's uuid: the only identity that stays
	Number    string // the author's number; often unknown
	Name      string // the author's profile name; may be empty
	Device    int    // the author's device
	Timestamp int64  // the sender's clock, milliseconds; with Sender it names the message
	Text      string
	GroupID   string // internal group id (base64 of 32 bytes); empty in a direct chat
	Mentions  []asked.Mention
}

// ErrFrame marks bytes that are no frame.
var ErrFrame = errors.New("not a frame of the Signal API")

// frame is the part of a frame that botd reads. JSON null leaves a field at its
// zero value, so absent and null are one.
type frame struct {
	Account   string    `json:"account"`
	Envelope  *body     `json:"envelope"`
	Exception *struct{} `json:"exception"`
	Error     string    `json:"error"`
}

type body struct {
	Source       string `json:"source"`
	SourceNumber string `json:"sourceNumber"`
	SourceUUID   string `json:"sourceUuid"`
	SourceName   string `json:"sourceName"`
	SourceDevice int    `json:"sourceDevice"`
	Timestamp    int64  `json:"timestamp"`

	Data    *data     `json:"dataMessage"`
	Edit    *struct{} `json:"editMessage"`
	Sync    *struct{} `json:"syncMessage"`
	Receipt *struct{} `json:"receiptMessage"`
	Typing  *struct{} `json:"typingMessage"`
	Call    *struct{} `json:"callMessage"`
	Story   *struct{} `json:"storyMessage"`
}

type data struct {
	Timestamp int64  `json:"timestamp"`
	Message   string `json:"message"`
	Mentions  []struct {
		UUID   string `json:"uuid"`
		Number string `json:"number"`
		Start  int    `json:"start"`
		Length int    `json:"length"`
	} `json:"mentions"`
	Group *struct {
		ID   string `json:"groupId"`
		Type string `json:"type"`
	} `json:"groupInfo"`
}

// Parse reads one frame. Frames that carry only an exception or an error are
// KindException and no error: the server reports somebody else's fault with them.
// The error wraps ErrFrame when raw is not a JSON object of the expected shape.
func Parse(raw []byte) (Message, error) {
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	m := Message{Account: f.Account, Kind: KindEmpty}
	e := f.Envelope
	if e == nil {
		if f.Exception != nil || f.Error != "" {
			m.Kind = KindException
			return m, nil
		}
		return Message{}, fmt.Errorf("%w: no envelope", ErrFrame)
	}
	m.Sender, m.Number, m.Name = e.SourceUUID, e.SourceNumber, e.SourceName
	m.Device, m.Timestamp = e.SourceDevice, e.Timestamp
	if m.Sender == "" {
		m.Sender = e.Source // old servers name only this
	}
	m.Kind = e.kind()
	if e.Data != nil {
		m.Text = e.Data.Message
		for _, n := range e.Data.Mentions {
			m.Mentions = append(m.Mentions, asked.Mention{Start: n.Start, Length: n.Length, UUID: n.UUID, Number: n.Number})
		}
		if e.Data.Group != nil {
			m.GroupID = e.Data.Group.ID
		}
		if e.Data.Timestamp != 0 {
			m.Timestamp = e.Data.Timestamp
		}
	}
	return m, nil
}

// kind is what the envelope carries. A frame has one of them; a data message
// wins should a server ever send two.
func (e *body) kind() Kind {
	switch {
	case e.Data != nil && e.Data.Group != nil && e.Data.Group.Type == "UPDATE":
		return KindGroup
	case e.Data != nil && e.Data.Message != "":
		return KindText
	case e.Data != nil:
		return KindOther
	case e.Edit != nil:
		return KindEdit
	case e.Sync != nil:
		return KindSync
	case e.Receipt != nil:
		return KindReceipt
	case e.Typing != nil:
		return KindTyping
	case e.Call != nil:
		return KindCall
	case e.Story != nil:
		return KindStory
	}
	return KindEmpty
}
