package transport

import "context"

// Receiver is told what comes from a Source. Open, Frame and Rejected are
// called one after another, Alive from any goroutine.
type Receiver interface {
	// Open is called once, before the first frame: from now on frames come.
	Open()

	// Frame is called for each frame: {"account", "envelope", …}, or {"error"}
	// when the server could not make one. Its braces and quotes match; that the
	// rest of it is JSON is for the receiver to find out. raw is valid until
	// Frame returns.
	//
	// It must return at once, whatever becomes of the frame, unless the
	// source's Traits say PressesBack: then it may wait until there is room, or
	// until ctx ends. ctx is the link's: when Receive's own ends, what is under
	// way still comes for a moment, and comes no second time.
	Frame(ctx context.Context, raw []byte)

	// Rejected is called instead of Frame for what came and is not handed on.
	Rejected(why Reject, bytes int64)

	// Alive is called whenever the server has shown that it is there.
	Alive()
}

// Reject says why something that came was not handed on as a frame.
type Reject string

// The reasons.
const (
	RejectTooLong Reject = "too_long" // longer than MaxFrame; it was read past
	RejectNoFrame Reject = "no_frame" // not what a server of Signal's sends
	RejectUnasked Reject = "unasked"  // sent outside our subscription, which brings it too
)

// Rejects lists every reason, for who counts by reason.
func Rejects() []Reject { return []Reject{RejectTooLong, RejectNoFrame, RejectUnasked} }

// MaxFrame bounds one frame with what is around it, in bytes. A longer one is
// read past and not kept: breaking the link for it would lose what comes behind.
const MaxFrame = 4 << 20
