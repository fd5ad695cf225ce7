package match

import "quartet/services/busd/internal/wire"

// Message is what rules look at. Absent fields are "".
type Message struct {
	Type wire.Type

	// Sender is the sender's unique name, or org.freedesktop.DBus.
	Sender string

	Interface, Member, Path string

	// Destination is what the header says, "" for a broadcast. A message with
	// a destination matches only rules that eavesdrop.
	Destination string

	// SenderNames returns the well-known names that the sender owns now, not
	// those it is queued for. nil means none. It is called at most once a
	// search, and only when rules name senders so.
	SenderNames func() []string

	// DestinationIs reports whether name, unique or well-known, now belongs to
	// the connection that Destination stands for. nil compares with Destination,
	// which is right for the driver and for a name that nobody owns yet.
	DestinationIs func(name string) bool

	// Args iterates over the arguments of the body; nil means an empty one. It
	// is called at most once a search, and only when rules look at arguments.
	Args func() wire.Args
}
