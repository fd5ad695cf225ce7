package load

import "encoding/binary"

// Types of messages, the one flag in use, and the codes of header fields.
const (
	typeCall   = 1
	typeReturn = 2
	typeError  = 3
	typeSignal = 4

	noReply = 1

	fieldPath        = 1
	fieldInterface   = 2
	fieldMember      = 3
	fieldError       = 4
	fieldReplySerial = 5
	fieldDestination = 6
	fieldSender      = 7
	fieldSignature   = 8
	fieldFDs         = 9
)

// What the load is called on the bus.
const (
	loadPath      = "/org/quartet/Load"
	loadInterface = "org.quartet.Load"
	loadService   = "org.quartet.Load"
	busName       = "org.freedesktop.DBus"
	busPath       = "/org/freedesktop/DBus"
)

// message is one to write. Its serial is patched into the bytes.
type message struct {
	kind, flags byte
	path        string
	iface       string
	member      string
	destination string
	signature   string
	replies     bool // with REPLY_SERIAL, to be patched
	fds         uint32
	body        []byte
}

// Where the serials lie: REPLY_SERIAL is always the first field.
const (
	serialAt      = 8
	replySerialAt = 20
)

// bytes marshals in little endian.
func (m message) bytes() []byte {
	b := []byte{'l', m.kind, m.flags, 1}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.body)))
	b = append(b, make([]byte, 8)...) // serial, length of the fields
	if m.replies {
		b = appendNumber(b, fieldReplySerial, 1)
	}
	for _, f := range []struct {
		code  byte
		kind  byte
		value string
	}{{fieldPath, 'o', m.path}, {fieldInterface, 's', m.iface}, {fieldMember, 's', m.member}, {fieldDestination, 's', m.destination}} {
		if f.value != "" {
			b = append(align(b, 8), f.code, 1, f.kind, 0)
			b = appendString(b, f.value)
		}
	}
	if m.signature != "" {
		b = append(align(b, 8), fieldSignature, 1, 'g', 0, byte(len(m.signature)))
		b = append(append(b, m.signature...), 0)
	}
	if m.fds > 0 {
		b = appendNumber(b, fieldFDs, m.fds)
	}
	binary.LittleEndian.PutUint32(b[12:], uint32(len(b)-16))
	b = append(align(b, 8), m.body...)
	setSerial(b, 1)
	return b
}

func appendNumber(b []byte, code byte, n uint32) []byte {
	return appendUint32(append(align(b, 8), code, 1, 'u', 0), n)
}

func appendUint32(b []byte, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(align(b, 4), n)
}

// appendString appends a string or an object path.
func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint32(align(b, 4), uint32(len(s)))
	return append(append(b, s...), 0)
}

func align(b []byte, to int) []byte {
	for len(b)%to != 0 {
		b = append(b, 0)
	}
	return b
}

func setSerial(b []byte, n uint32)      { binary.LittleEndian.PutUint32(b[serialAt:], n) }
func setReplySerial(b []byte, n uint32) { binary.LittleEndian.PutUint32(b[replySerialAt:], n) }

// text is a body of one string of n bytes.
func text(n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = 'a' + byte(i%26)
	}
	return appendString(nil, string(s))
}

// payload is what a signal or a call carries in bytes of text.
const payload = 64

// tick is the signal of the load.
func tick(body []byte) message {
	return message{kind: typeSignal, flags: noReply, path: loadPath, iface: loadInterface, member: "Tick", signature: "s", body: body}
}

// echo is the call of the load.
func echo(destination string, body []byte) message {
	return message{kind: typeCall, path: loadPath, iface: loadInterface, member: "Echo", destination: destination, signature: "s", body: body}
}

// toBus is a call to the bus with arguments that are marshalled already.
func toBus(member, signature string, body []byte) message {
	return message{kind: typeCall, path: busPath, iface: busName, member: member, destination: busName, signature: signature, body: body}
}
