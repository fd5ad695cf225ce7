package differential_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// spoil sends a message that is wrong somewhere. What would make the bus wait
// for more of it is not drawn: that shows nothing but patience.
func (m *maker) spoil(who int) {
	s := step{deed: spoils, who: who}
	if m.chance(40) {
		out := one(m, m.call(), m.signal(), m.question())
		s.messages = []message{out}
		flips := 1 + m.IntN(3)
		seed := m.Uint64()
		s.note = fmt.Sprintf("%d bytes of it changed (%d)", flips, seed)
		s.spoil = func(b []byte) []byte { return flipped(b, flips, seed) }
		m.add(s)
		return
	}
	w := m.wrong()
	s.note, s.messages, s.spoil = w.note, []message{w.message}, w.spoil
	m.add(s)
}

// flipped changes bytes at places that do not depend on how long the unique
// names in b are, nor change how long b says it is. The point of a unique name
// stays: dbus-daemon takes one without, which the specification does not allow.
func flipped(b []byte, n int, seed uint64) []byte {
	for range n {
		seed = seed*6364136223846793005 + 1442695040888963407
		at := int(seed>>33) % len(b)
		to := byte(seed >> 56)
		if bytes.HasSuffix(b[:at], []byte(":1")) && b[at] == '.' {
			continue
		}
		if at >= 4 && at < 12 || at >= 12 && at < 16 || at == 0 && (to == 'l' || to == 'B') {
			continue
		}
		b[at] = to
	}
	return b
}

// A fault is a message and what is wrong with it.
type fault struct {
	note    string
	message message
	spoil   func([]byte) []byte
}

func at(i int, to byte) func([]byte) []byte {
	return func(b []byte) []byte { b[i] = to; return b }
}

func long(i int, to uint32) func([]byte) []byte {
	return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[i:], to); return b }
}

// wrong is a message with one of the faults that a bus has to see. Those of the
// header come first.
func (m *maker) wrong() fault {
	good := func(body ...value) message { return to(m.name(), "/a", "com.example.I", "M", body...) }
	with := func(fields ...field) message {
		out := good()
		out.fields = append(out.fields, fields...)
		return out
	}
	raw := func(sig string, b ...byte) message {
		out := good()
		out.field(fieldSignature, sig)
		out.more = b
		return out
	}
	without := func(kind byte, code byte) message {
		out := good()
		out.kind = kind
		out.number(fieldReplySerial, 7)
		out.field(fieldError, "com.example.E")
		kept := out.fields[:0]
		for _, f := range out.fields {
			if f.code != code {
				kept = append(kept, f)
			}
		}
		out.fields = kept
		return out
	}
	s := func(code byte, t string) field { return field{code, value{sig: kinds[code], s: t}} }
	return one(m,
		fault{"byte order x", good(), at(0, 'x')},
		fault{"type 0", good(), at(1, 0)},
		fault{"version 2", good(), at(3, 2)},
		fault{"serial 0", good(), long(8, 0)},
		fault{"a body of 2^27 bytes", good(), long(4, 1<<27)},
		fault{"fields of 2^26+1 bytes", good(), long(12, 1<<26+1)},
		fault{"no path", without(call, fieldPath), nil},
		fault{"no member", without(call, fieldMember), nil},
		fault{"a signal without interface", without(signal, fieldInterface), nil},
		fault{"an answer without serial", without(answer, fieldReplySerial), nil},
		fault{"an error without name", without(failure, fieldError), nil},
		fault{"an error without serial", without(failure, fieldReplySerial), nil},
		fault{"member twice", with(s(fieldMember, "N")), nil},
		fault{"field 0", with(field{0, text("x")}), nil},
		fault{"path of type s", with(field{fieldPath, text("/a")}), nil},
		fault{"unknown field twice", with(field{fieldUnknown, text("x")}, field{fieldUnknown, text("x")}), nil},
		fault{"reply serial 0", with(field{fieldReplySerial, number(0)}), nil},
		fault{"empty error name", with(s(fieldError, "")), nil},
		fault{"error name with one element", with(s(fieldError, "x")), nil},
		fault{"sender that is no name", with(s(fieldSender, "x y")), nil},
		fault{"more descriptors than come", with(field{fieldFDs, number(3)}), nil},
		fault{"no descriptors, announced", with(field{fieldFDs, number(0)}), nil},
		fault{"local path", to(m.name(), "/org/freedesktop/DBus/Local", "com.example.I", "M"), nil},
		fault{"local interface", to(m.name(), "/a", "org.freedesktop.DBus.Local", "M"), nil},
		fault{"path with an empty element", to(m.name(), "/a//b", "com.example.I", "M"), nil},
		fault{"path that ends in /", to(m.name(), "/a/", "com.example.I", "M"), nil},
		fault{"interface with one element", to(m.name(), "/a", "example", "M"), nil},
		fault{"interface with -", to(m.name(), "/a", "com.ex-ample", "M"), nil},
		fault{"member with a point", to(m.name(), "/a", "com.example.I", "M.N"), nil},
		fault{"member of 256 letters", to(m.name(), "/a", "com.example.I", strings.Repeat("m", 256)), nil},
		fault{"member of 255 letters", to(m.name(), "/a", "com.example.I", strings.Repeat("m", 255)), nil},
		fault{"destination that is no name", to("no", "/a", "com.example.I", "M"), nil},
		fault{"a body without signature", raw("", 1, 2, 3, 4), nil},
		fault{"a signature without body", raw("u"), nil},
		fault{"bytes behind the body", raw("y", 1, 2), nil},
		fault{"boolean 2", good(value{sig: "b", n: 2}), nil},
		fault{"text that is no UTF-8", good(text("a\xff")), nil},
		fault{"text with a surrogate", good(text("\xed\xa0\x80")), nil},
		fault{"text with a NUL", good(text("a\x00b")), nil},
		fault{"text with a non-character", good(text("\uffff\ufdd0")), nil},
		fault{"overlong text", good(text("\xc0\x80")), nil},
		fault{"path in the body that is none", good(value{sig: "o", s: "a"}), nil},
		fault{"signature in the body that is none", good(value{sig: "g", s: "a"}), nil},
		fault{"an empty struct", raw("()"), nil},
		fault{"an array of nothing", raw("a", 0, 0, 0, 0), nil},
		fault{"a dict entry alone", raw("{su}", 0, 0, 0, 0), nil},
		fault{"a dict with a container as key", raw("a{vs}", 0, 0, 0, 0, 0, 0, 0, 0), nil},
		fault{"a dict entry of three", raw("a{sss}", 0, 0, 0, 0, 0, 0, 0, 0), nil},
		fault{"a wrongly nested signature", raw("a{s(i}i)", 0, 0, 0, 0, 0, 0, 0, 0), nil},
		fault{"an unknown type", raw("z"), nil},
		fault{"a variant of two values", raw("v", 2, 'y', 'y', 0, 1, 2), nil},
		fault{"a variant of nothing", raw("v", 0, 0), nil},
		fault{"an array longer than the body", raw("ay", 9, 0, 0, 0, 1), nil},
		fault{"an array that ends within an element", raw("ai", 6, 0, 0, 0, 1, 2, 3, 4, 5, 6), nil},
		fault{"padding that is not zero", raw("yu", 1, 9, 9, 9, 1, 0, 0, 0), nil},
		fault{"33 arrays", good(value{sig: strings.Repeat("a", 33) + "y"}), nil},
		fault{"32 arrays", good(value{sig: strings.Repeat("a", 32) + "y"}), nil},
		fault{"64 variants", raw("v", nested(64)...), nil},
		fault{"65 variants", raw("v", nested(65)...), nil},
		fault{"66 variants", raw("v", nested(66)...), nil},
		fault{"10,000 variants", raw("v", nested(10_000)...), nil},
	)
}

// nested is a byte within n variants.
func nested(n int) []byte {
	return append(bytes.Repeat([]byte{1, 'v', 0}, n-1), 1, 'y', 0, 1)
}
