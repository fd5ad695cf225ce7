package load

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// frame is one message as it came: valid until the next read.
type frame struct {
	raw  []byte // what of it was kept: all, or the header when it was too long
	body int    // where the body begins
	size int    // of the whole message
}

func (f frame) kind() byte          { return f.raw[1] }
func (f frame) serial() uint32      { return binary.LittleEndian.Uint32(f.raw[serialAt:]) }
func (f frame) bodySize() int       { return f.size - f.body }
func (f frame) bodyBytes() []byte   { return f.raw[min(f.body, len(f.raw)):] }
func (f frame) replySerial() uint32 { return number(f.field(fieldReplySerial)) }

// field is the value of a header field, without a length in front: text, or
// four bytes of a number. It is nil when the field is missing.
func (f frame) field(code byte) []byte {
	b := f.raw
	end := 16 + int(binary.LittleEndian.Uint32(b[12:]))
	for at := 16; at+6 < end; at = (at + 7) &^ 7 {
		found, kind := b[at], b[at+2]
		var value []byte
		switch kind {
		case 's', 'o':
			n := int(binary.LittleEndian.Uint32(b[at+4:]))
			if at+8+n > end {
				return nil
			}
			value = b[at+8 : at+8+n]
			at += 8 + n + 1
		case 'g':
			n := int(b[at+4])
			if at+5+n > end {
				return nil
			}
			value = b[at+5 : at+5+n]
			at += 5 + n + 1
		case 'u':
			value = b[at+4 : at+8]
			at += 8
		default:
			return nil // no bus adds other fields
		}
		if found == code {
			return value
		}
	}
	return nil
}

func number(b []byte) uint32 {
	if len(b) != 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// failure is what an error message says.
func (f frame) failure() error {
	text := ""
	if string(f.field(fieldSignature)) == "s" {
		if b := f.bodyBytes(); len(b) > 4 {
			text = ": " + string(b[4:len(b)-1])
		}
	}
	return fmt.Errorf("%s%s", f.field(fieldError), text)
}

// errForeign ends a run: the bus speaks as no bus here does.
var errForeign = errors.New("the bus sent bytes that are no message in little endian")

// extent is the size of the header with its padding and of the whole message
// that begins with b, which has 16 bytes at least.
func extent(b []byte) (header, total int, err error) {
	if b[0] != 'l' || b[3] != 1 {
		return 0, 0, errForeign
	}
	header = (16 + int(binary.LittleEndian.Uint32(b[12:])) + 7) &^ 7
	total = header + int(binary.LittleEndian.Uint32(b[4:]))
	if header > maxHeader || total > maxMessage {
		return 0, 0, errForeign
	}
	return header, total, nil
}

// No message of the load comes near these.
const (
	maxHeader  = 2048
	maxMessage = 1 << 22
)
