package signalnet

import (
	"encoding/json"
	"fmt"
	"time"
)

// Spec is a message that somebody is to write to the bot, or another thing that
// is to reach it.
type Spec struct {
	Text      string          `json:"text"`
	Sender    string          `json:"sender"` // uuid
	Name      string          `json:"name"`
	Group     string          `json:"group"`               // internal id; empty = a direct message
	Timestamp int64           `json:"timestamp,omitempty"` // ms; 0 = when it is emitted, unique for the sender
	Device    int             `json:"device,omitempty"`    // 0 = 1, or 2 with sync
	Raw       json.RawMessage `json:"raw,omitempty"`       // a whole params object, emitted as it is
	*Extra                    // nil for a plain message, of which there may be many
}

// Extra is what makes a frame more than a text.
type Extra struct {
	EditOf      int64       `json:"edit_of,omitempty"`   // timestamp of the message that gets a new text
	DeleteOf    int64       `json:"delete_of,omitempty"` // timestamp of the message that is taken back
	Attachments Files       `json:"attachments,omitempty"`
	Mentions    []Mentioned `json:"mentions,omitempty"`
	Quote       *Quoted     `json:"quote,omitempty"`
	Reaction    *Reacted    `json:"reaction,omitempty"`
	Typing      string      `json:"typing,omitempty"` // STARTED or STOPPED
	Receipt     *Receipted  `json:"receipt,omitempty"`
	Sync        bool        `json:"sync,omitempty"`   // the bot's account wrote it, on its other device
	To          string      `json:"to,omitempty"`     // whom a sync message went to
	Update      bool        `json:"update,omitempty"` // the group changed
	Age         Span        `json:"age,omitempty"`    // how long ago the server got it
	ViewOnce    bool        `json:"view_once,omitempty"`
	Expires     int         `json:"expires,omitempty"` // seconds
}

// Mentioned is a mention in a frame; start and length are UTF-16 units.
type Mentioned struct {
	Start  int    `json:"start"`
	Length int    `json:"length"`
	UUID   string `json:"uuid"`
	Name   string `json:"name"`
}

// Quoted is the message that another one quotes.
type Quoted struct {
	Timestamp int64  `json:"timestamp"`
	Author    string `json:"author"`
	Text      string `json:"text"`
}

// Reacted is a reaction to a message.
type Reacted struct {
	Emoji           string `json:"emoji"`
	TargetAuthor    string `json:"target_author"`
	TargetTimestamp int64  `json:"target_timestamp"`
	Remove          bool   `json:"remove,omitempty"`
}

// Receipted is a receipt for messages of the bot.
type Receipted struct {
	Kind       string  `json:"kind"` // delivery, read or viewed
	Timestamps []int64 `json:"timestamps"`
}

// Span is a duration that JSON writes as "10m".
type Span time.Duration

// UnmarshalJSON reads "10m".
func (s *Span) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("want a duration like \"10m\": %w", err)
	}
	d, err := time.ParseDuration(text)
	*s = Span(d)
	return err
}

// Files are the attachments of a frame; JSON may tell only how many.
type Files []FileSpec

// FileSpec is an attachment of a frame.
type FileSpec struct {
	ContentType string `json:"content_type"`
	Filename    string `json:"filename"`
	Bytes       int    `json:"bytes"`
}

const maxFiles = 32 // of one message, as Signal has it

// UnmarshalJSON reads a count or a list.
func (f *Files) UnmarshalJSON(data []byte) error {
	var count int
	if json.Unmarshal(data, &count) == nil {
		if count < 0 || count > maxFiles {
			return fmt.Errorf("attachments: want 0 to %d", maxFiles)
		}
		*f = make(Files, count)
		for i := range *f {
			(*f)[i] = FileSpec{ContentType: "image/jpeg", Bytes: 1024}
		}
		return nil
	}
	var list []FileSpec
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("attachments: want a count or a list: %w", err)
	}
	if len(list) > maxFiles {
		return fmt.Errorf("attachments: want at most %d", maxFiles)
	}
	*f = list
	return nil
}
