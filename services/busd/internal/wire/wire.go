// Package wire is the D-Bus codec of the bus. It reads and checks what a
// client sends, rewrites a header for forwarding, and builds the bus's own
// messages.
//
// Every message that passes is treated by Frame (how long is it), Parse (the
// header), CheckBody (the body against its signature) and AppendHeader (the
// header as a recipient sees it). These four keep no state but the Message,
// which is reused, and allocate nothing unless they refuse. What they accept
// is valid in every respect that the D-Bus specification, chapters "Type
// System", "Marshaling" and "Message Format", lets a bus see; all that a bus
// cannot see is whether the names mean something.
//
// Strings of a Message, of Args and of a Decoder are views into the bytes they
// were read from: whoever keeps one after those bytes are reused clones it.
//
// Files: frame.go, parse.go, body.go, forward.go for the four stages;
// signature.go, names.go, text.go for the rules of strings; args.go and
// decode.go to read a checked body; encode.go to write messages.
package wire

import "strconv"

// Type is the kind of a message. Values above Signal are kept as they are: the
// specification wants them ignored by whoever does not know them, not refused.
type Type uint8

// The message types of the specification, "Message Format".
const (
	MethodCall   Type = 1
	MethodReturn Type = 2
	ErrorReply   Type = 3
	Signal       Type = 4
)

// typeNames are what match rules and policies call the types.
var typeNames = [...]string{MethodCall: "method_call", MethodReturn: "method_return", ErrorReply: "error", Signal: "signal"}

// String is what match rules and policies call the type; those above Signal have
// a number.
func (t Type) String() string {
	if t < MethodCall || t > Signal {
		return strconv.Itoa(int(t))
	}
	return typeNames[t]
}

// ParseType is the opposite of String for the types that have a name.
func ParseType(name string) (t Type, known bool) {
	for t := MethodCall; t <= Signal; t++ {
		if typeNames[t] == name {
			return t, true
		}
	}
	return 0, false
}

// The bus itself, which is spoken to like a peer: its name, that of its main
// interface too, and its object; specification, "Message Bus Messages".
const (
	BusName = "org.freedesktop.DBus"
	BusPath = "/org/freedesktop/DBus"
)

// Flags are the bits of the third byte of a message. Unknown bits are kept.
type Flags uint8

// The flags that a bus goes by; specification, "Message Format".
const (
	NoReplyExpected Flags = 1
	NoAutoStart     Flags = 2
)

// Sizes in bytes and depths in containers, all inclusive.
const (
	// FixedHeader is what Frame needs to tell how long a message is: the
	// fixed part of the header and the length of its array of fields.
	FixedHeader = 16
	// MaxMessage is the largest message, header and padding included.
	MaxMessage = 1 << 27
	// MaxArray is the largest array, its length word and padding excluded.
	MaxArray = 1 << 26
	// MaxName is the longest bus, interface, member or error name.
	MaxName = 255
	// MaxSignature is the longest signature.
	MaxSignature = 255

	maxNesting      = 32 // arrays, and structs, within one signature
	maxTotalNesting = 64 // containers around a value, variants included
)

// Field codes of the header, specification "Header Fields".
const (
	fieldPath        = 1
	fieldInterface   = 2
	fieldMember      = 3
	fieldErrorName   = 4
	fieldReplySerial = 5
	fieldDestination = 6
	fieldSender      = 7
	fieldSignature   = 8
	fieldUnixFDs     = 9
)

// Error says in what way bytes are no valid message. Reason is for the log,
// beside the offender's name; it holds nothing of the message unquoted.
type Error struct{ Reason string }

func (e *Error) Error() string { return "invalid message: " + e.Reason }

// Message is the header of one message. It is reused: Parse overwrites all of
// it. The strings are views into the bytes given to Parse; an absent field is
// "" or 0, which no present field can be but Signature and UnixFDs, where it
// means the same.
type Message struct {
	Type      Type
	Flags     Flags
	BigEndian bool // the byte order of header and body
	Serial    uint32

	Path, Interface, Member, ErrorName string
	Destination, Sender, Signature     string
	ReplySerial, UnixFDs               uint32

	HeaderLen int // bytes, padding to the body included
	BodyLen   int // bytes

	header   []byte   // the padded header
	fields   int      // where the array of fields ends, in header
	dropFrom int      // where the first field lies that is not forwarded as it is, or 0
	keptEnd  int      // where the fields before that end, without padding
	ends     typeEnds // of Signature
}
