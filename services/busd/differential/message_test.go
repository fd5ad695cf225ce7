package differential_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Types and flags of messages, and the codes of header fields.
const (
	call, answer, failure, signal = 1, 2, 3, 4

	noReply, noStart = 1, 2

	fieldPath, fieldInterface, fieldMember, fieldError, fieldReplySerial       = 1, 2, 3, 4, 5
	fieldDestination, fieldSender, fieldSignature, fieldFDs, fieldUnknown byte = 6, 7, 8, 9, 77
)

// kinds are the types that the known header fields have.
var kinds = map[byte]string{fieldPath: "o", fieldInterface: "s", fieldMember: "s", fieldError: "s", fieldReplySerial: "u",
	fieldDestination: "s", fieldSender: "s", fieldSignature: "g", fieldFDs: "u"}

// A field is one of a header.
type field struct {
	code byte
	of   value
}

// A message is one to be sent. Text "<3>" stands for the unique name of the
// session's third connection, in fields and values; a serial of 0 is the
// connection's next.
type message struct {
	big         bool
	kind, flags byte
	serial      uint32
	fields      []field
	body        []value
	fds         int    // that are sent along
	more        []byte // behind the body, counted in its length
}

func (m *message) field(code byte, s string) {
	if s != "" {
		m.fields = append(m.fields, field{code, value{sig: kinds[code], s: s}})
	}
}

func (m *message) number(code byte, n uint32) {
	m.fields = append(m.fields, field{code, value{sig: "u", n: uint64(n)}})
}

// to is a method call.
func to(destination, path, iface, member string, body ...value) message {
	m := message{kind: call, body: body}
	m.field(fieldPath, path)
	m.field(fieldInterface, iface)
	m.field(fieldMember, member)
	m.field(fieldDestination, destination)
	return m
}

// driver is a method call of the bus itself.
func driver(member string, body ...value) message {
	return to(busName, busPath, busName, member, body...)
}

func (m *message) get(code byte) string {
	for _, f := range m.fields {
		if f.code == code {
			return f.of.s
		}
	}
	return ""
}

// bytes is the message as it is sent; name says what "<3>" stands for.
func (m *message) bytes(serial uint32, name func(string) string) []byte {
	w := writer{big: m.big}
	for _, v := range m.body {
		w.put(named(v, name))
	}
	body := append(w.b, m.more...)
	w.b = []byte{'l', m.kind, m.flags, 1}
	if m.big {
		w.b[0] = 'B'
	}
	w.uint32(uint32(len(body)))
	w.uint32(serial)
	w.uint32(0)
	from := len(w.b)
	fields := m.fields
	if m.fds > 0 && !slices.ContainsFunc(fields, func(f field) bool { return f.code == fieldFDs }) {
		fields = append(slices.Clip(fields), field{fieldFDs, number(uint32(m.fds))})
	}
	if sig := signatureOf(m.body); sig != "" && !slices.ContainsFunc(fields, func(f field) bool { return f.code == fieldSignature }) {
		fields = append(slices.Clip(fields), field{fieldSignature, value{sig: "g", s: sig}})
	}
	for _, f := range fields {
		w.align(8)
		w.b = append(w.b, f.code)
		w.put(variant(named(f.of, name)))
	}
	w.setUint32(12, uint32(len(w.b)-from))
	w.align(8)
	return append(w.b, body...)
}

// named is v with unique names in place of what stands for them. Paths and
// signatures have none.
func named(v value, name func(string) string) value {
	if v.sig == "s" && strings.Contains(v.s, "<") {
		v.s = name(v.s)
		return v
	}
	in := make([]value, len(v.in))
	for i := range v.in {
		in[i] = named(v.in[i], name)
	}
	v.in = in
	return v
}

func (m message) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "type %d flags %d", m.kind, m.flags)
	if m.big {
		s.WriteString(" big-endian")
	}
	if m.serial != 0 {
		fmt.Fprintf(&s, " serial %d", m.serial)
	}
	for _, f := range m.fields {
		fmt.Fprintf(&s, " %d=%v", f.code, f.of)
	}
	fmt.Fprintf(&s, " %s(%s)", signatureOf(m.body), joined(m.body))
	if m.fds > 0 {
		fmt.Fprintf(&s, " +%d fds", m.fds)
	}
	return s.String()
}

// An event is what a connection has received: a message, or its end.
type event struct {
	end    bool
	kind   byte
	flags  byte
	big    bool
	serial uint32
	fields map[byte]value
	body   []value
	fds    []string // which they are

	at    string // who has received it, "<3>"
	noFDs bool   // who takes no descriptors

	// answers is the member of the call that this is the answer to, "" for
	// what is no answer, or one to a call that nobody has made.
	answers string
}

func (e *event) text(code byte) string    { return e.fields[code].s }
func (e *event) replySerial() uint32      { return uint32(e.fields[fieldReplySerial].n) }
func (e *event) fromBus() bool            { return e.text(fieldSender) == busName }
func (e *event) errorIs(name string) bool { return e.text(fieldError) == errorPrefix+name }

// size is how long the message is that b begins with; 0 if that is not known.
func size(b []byte) int {
	if len(b) < 16 {
		return 0
	}
	r := reader{b: b, at: 4, big: b[0] == 'B'}
	body := r.number(4)
	r.at = 12
	fields := r.number(4)
	return int(16+(fields+7)&^7) + int(body)
}

// parse reads a whole message.
func parse(b []byte) *event {
	e := &event{kind: b[1], flags: b[2], big: b[0] == 'B', fields: map[byte]value{}}
	r := reader{b: b, at: 4, big: e.big}
	length := int(r.number(4))
	e.serial = uint32(r.number(4))
	for _, f := range r.get("a(yv)").in {
		code := byte(f.in[0].n)
		if _, twice := e.fields[code]; twice {
			panic("a header field twice")
		}
		e.fields[code] = f.in[1].in[0]
	}
	r.align(8)
	if len(b)-r.at != length {
		panic("the body has another length than it says")
	}
	r = reader{b: b[r.at:], big: e.big}
	for _, one := range membersOf(e.text(fieldSignature)) {
		e.body = append(e.body, r.get(one))
	}
	if r.at != len(r.b) {
		panic("the body has more than its signature")
	}
	return e
}

func (e *event) String() string {
	if e.end {
		return "the connection ends"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "type %d flags %d", e.kind, e.flags)
	if e.big {
		s.WriteString(" big-endian")
	}
	if !e.fromBus() && e.serial != 0 {
		fmt.Fprintf(&s, " serial %d", e.serial)
	}
	for _, code := range slices.Sorted(maps.Keys(e.fields)) {
		fmt.Fprintf(&s, " %d=%v", code, e.fields[code])
	}
	fmt.Fprintf(&s, " (%s)", joined(e.body))
	if len(e.fds) > 0 {
		fmt.Fprintf(&s, " fds %v", e.fds)
	}
	if e.answers != "" {
		fmt.Fprintf(&s, " answers %s", e.answers)
	}
	return s.String()
}
