package wire

import "math/bits"

// fieldTypes is the type code of each known header field.
var fieldTypes = [...]byte{
	fieldPath: 'o', fieldInterface: 's', fieldMember: 's', fieldErrorName: 's', fieldReplySerial: 'u',
	fieldDestination: 's', fieldSender: 's', fieldSignature: 'g', fieldUnixFDs: 'u',
}

// required are the fields a message of each known type must have, a bit a code.
var required = [...]uint16{
	MethodCall:   1<<fieldPath | 1<<fieldMember,
	MethodReturn: 1 << fieldReplySerial,
	ErrorReply:   1<<fieldErrorName | 1<<fieldReplySerial,
	Signal:       1<<fieldPath | 1<<fieldInterface | 1<<fieldMember,
}

// Path and interface that libraries use within a process; nobody may send them.
const (
	localPath      = "/org/freedesktop/DBus/Local"
	localInterface = "org.freedesktop.DBus.Local"
)

// Parse reads the padded header of a message and checks everything that a
// header alone can tell: the fixed part, the fields' types and values, the
// names, and that the type of message has the fields it needs. Bytes behind the
// header are not looked at. It fails with an *Error, and then m holds nothing
// of use. Specification, "Message Format" and "Header Fields".
func (m *Message) Parse(header []byte) error {
	n, total, err := Frame(header)
	if err != nil {
		return err
	}
	if n > len(header) {
		return refuse("header of %d bytes of which %d are there", n, len(header))
	}
	header = header[:n]
	fields, serial := load32(header, 12), load32(header, 8)
	m.BigEndian = header[0] == 'B'
	if m.BigEndian {
		fields, serial = bits.ReverseBytes32(fields), bits.ReverseBytes32(serial)
	}
	if serial == 0 {
		return &Error{"serial 0"}
	}
	m.Type, m.Flags, m.Serial = Type(header[1]), Flags(header[2]), serial
	m.HeaderLen, m.BodyLen = n, total-n
	m.header, m.fields = header, FixedHeader+int(fields)
	return m.parseFields(header, m.fields)
}

// parseFields reads the header fields, which lie in b from FixedHeader to end;
// b is padded to 8.
func (m *Message) parseFields(b []byte, end int) error {
	m.Path, m.Interface, m.Member, m.ErrorName = "", "", "", ""
	m.Destination, m.Sender, m.Signature = "", "", ""
	m.ReplySerial, m.UnixFDs, m.dropFrom = 0, 0, 0
	var seen uint16
	next := FixedHeader // where the value of the last field ends
	for p := FixedHeader; p < end; {
		// A field is a struct of a byte and a variant. For the known ones the
		// first eight bytes are the code, the variant's signature of one type
		// code (length, code, NUL), and four bytes of the value.
		head := load64(b, p)
		code := uint8(head)
		if (code == fieldSender || int(code) >= len(fieldTypes)) && m.dropFrom == 0 {
			m.dropFrom, m.keptEnd = p, next
		}
		var zeros int // where the NUL of the value and the padding begin
		if code == 0 || int(code) >= len(fieldTypes) {
			var err error
			if next, err = m.unknownField(b[:end], p); err != nil {
				return err
			}
			zeros = next
		} else {
			if seen&(1<<code) != 0 {
				return refuse("header field %d twice", code)
			}
			seen |= 1 << code
			var err error
			if zeros, next, err = m.knownField(b, p, end, head); err != nil {
				return err
			}
		}
		padded := (next + 7) &^ 7
		if zeros < padded && load64(b, padded-8)>>(8*uint(zeros&7)) != 0 {
			return &Error{"header field without a NUL behind it, or padding that is not zero"}
		}
		if next == end {
			break
		}
		if p = padded; p >= end {
			return &Error{"header fields that end within padding"}
		}
	}
	return m.checkRequired(seen)
}

// knownField reads the field at p, which begins with head. It returns where the
// value ends, and where from there must be zeros up to a multiple of 8: at
// the NUL, if the value has one.
func (m *Message) knownField(b []byte, p, end int, head uint64) (zeros, next int, err error) {
	code := uint8(head)
	kind := fieldTypes[code]
	if uint32(head)>>8 != 1|uint32(kind)<<8 {
		return 0, 0, refuse("header field %d of another type than %c", code, kind)
	}
	value := uint32(head >> 32)
	if m.BigEndian {
		value = bits.ReverseBytes32(value)
	}
	from, size := p+8, int(value)
	switch kind {
	case 'u':
		if from > end {
			return 0, 0, refuse("header field %d beyond the end of the header", code)
		}
		if code == fieldUnixFDs {
			m.UnixFDs = value
		} else if m.ReplySerial = value; value == 0 {
			return 0, 0, &Error{"reply serial 0"}
		}
		return from, from, nil
	case 'g':
		from, size = p+5, int(uint8(head>>32))
	}
	if size >= end-from {
		return 0, 0, refuse("header field %d beyond the end of the header", code)
	}
	zeros = from + size
	s := view(b, from, zeros)
	if kind == 'g' {
		m.Signature = s
		if reason := checkSignature(s, &m.ends); reason != "" {
			return 0, 0, &Error{reason}
		}
	} else if !m.setName(code, s) {
		return 0, 0, refuse("header field %d of value %.300q", code, b[from:zeros])
	}
	return zeros, zeros + 1, nil
}

// setName stores the value of a field that holds a name or path, and reports
// whether it is valid.
func (m *Message) setName(code uint8, s string) bool {
	switch code {
	case fieldPath:
		m.Path = s
		return ValidPath(s)
	case fieldInterface:
		m.Interface = s
		return ValidInterface(s)
	case fieldMember:
		m.Member = s
		return ValidMember(s)
	case fieldErrorName:
		m.ErrorName = s
		return ValidErrorName(s)
	case fieldDestination:
		m.Destination = s
		return ValidBusName(s)
	default:
		m.Sender = s
		return ValidBusName(s)
	}
}

// unknownField checks the field at p, whose code is none of the known ones.
// Such fields are valid and not forwarded: a recipient may trust that a field
// it knows and this bus does not was not made up by the sender.
func (m *Message) unknownField(b []byte, p int) (next int, err error) {
	if b[p] == 0 {
		return 0, &Error{"header field 0"}
	}
	w := walk{b: b, pos: p + 1, big: m.BigEndian}
	if !w.variant(2) { // within the array of fields and the struct
		return 0, w.err
	}
	return w.pos, nil
}

func (m *Message) checkRequired(seen uint16) error {
	if int(m.Type) < len(required) {
		if missing := required[m.Type] &^ seen; missing != 0 {
			return refuse("message of type %d without header field %d", m.Type, bits.TrailingZeros16(missing))
		}
	}
	if m.Path == localPath {
		return &Error{"object path " + localPath}
	}
	if m.Interface == localInterface {
		return &Error{"interface " + localInterface}
	}
	return nil
}
