package transport

import "time"

// Chat is where a message goes: one of the two is set. Each transport spells it
// in its own way. It can be the key of a map.
type Chat struct {
	Group string // the group's internal id, as frames carry it
	User  string // a person's uuid; a number works too, while Signal shows it
}

// Outgoing is a message to send.
type Outgoing struct {
	Chat       Chat
	Text       string // over MaxText bytes signal-cli uploads it as a file
	Mentions   []Mention
	Quote      *Quote
	Attachment *Attachment
}

// MaxText is how long a text may be, in bytes of UTF-8, before signal-cli makes
// a slow upload of it.
const MaxText = 2000

// Mention puts a person's name in place of a part of a text, which is U+FFFC
// by custom.
type Mention struct {
	Start, Length int    // in UTF-16 units
	Author        string // uuid
}

// Quote is the message that another one answers to.
type Quote struct {
	Timestamp int64  // with Author it names the message
	Author    string // uuid; must not be empty
	Text      string
	Mentions  []Mention // in Text
}

// Attachment is a picture or file of a message, as bytes or as a file.
type Attachment struct {
	ContentType string
	Filename    string // signal-cli tells the type by its extension
	Data        []byte

	// Path is a file to send instead of Data; Filename is not used then.
	// signal-cli reads it where the transport can pass paths, else we do. It
	// must stay until Send has returned.
	Path string
}

// Reaction is an emoji on a message.
type Reaction struct {
	Chat      Chat
	Emoji     string
	Author    string // uuid of the message's author
	Timestamp int64  // of the message
	Remove    bool   // take it back
}

// Profile is what others see of our account.
type Profile struct {
	Name  string // must not be empty: without one messages to groups are refused
	About string // "" leaves it as it is

	// Avatar is our picture. nil leaves it as it is over JSON-RPC; over REST it
	// takes the picture away, because that server cannot leave it.
	Avatar *Attachment
}

// Receipt is what is known of a message that was handed to Signal.
type Receipt struct {
	Timestamp int64     // milliseconds; with our account it names the message at Signal
	Failed    []Failure // recipients that did not get it, while others did
}

// Failure is one recipient whom a message did not reach.
type Failure struct {
	Recipient  string        // uuid, else number, else username
	Reason     string        // IDENTITY_FAILURE, …; ClassifyReason sorts it
	RetryAfter time.Duration // what Signal wants us to wait; 0 when it does not say
	Challenge  string        // token of a captcha that lifts the limit; "" when there is none
}
