package wire_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quartet/services/busd/internal/wire"
)

// One test for each sentence of the specification's section "Message Format"
// that a header alone can break, in the section's order.

// headers checks the verdict on a header changed by edit, in both byte orders.
func headers(t *testing.T, want bool, what string, base message, edit func(m *message)) {
	t.Helper()
	for _, big := range []bool{false, true} {
		m := base
		m.big = big
		m.fields = slices.Clone(base.fields)
		edit(&m)
		header, _ := m.bytes()
		bytesVerdict(t, want, what, header)
	}
}

func bytesVerdict(t *testing.T, want bool, what string, header []byte) {
	t.Helper()
	var p wire.Message
	err := p.Parse(header)
	if (err == nil) != want {
		t.Errorf("%s: Parse says %v", what, err)
	}
	if _, err := parseNaive(header); (err == nil) != want {
		t.Errorf("%s: the naive codec says %v", what, err)
	}
}

// with replaces or adds the field.
func with(f field) func(m *message) {
	return func(m *message) {
		if i := slices.IndexFunc(m.fields, func(g field) bool { return g.code == f.code }); i >= 0 {
			m.fields[i] = f
			return
		}
		m.fields = append(m.fields, f)
	}
}

func without(codes ...byte) func(m *message) {
	return func(m *message) {
		m.fields = slices.DeleteFunc(m.fields, func(g field) bool { return slices.Contains(codes, g.code) })
	}
}

func TestHeaderIsPaddedTo8(t *testing.T) {
	for n := 1; n < 20; n++ {
		m := plain(4)
		m.fields = append(m.fields, field{7, "s", ":1." + strings.Repeat("2", n)})
		header, _ := m.bytes()
		size, total, err := wire.Frame(header)
		if err != nil || size != len(header) || total != size+m.bodyLen {
			t.Errorf("Frame = %d, %d, %v", size, total, err)
		}
		bytesVerdict(t, true, "padded header", header)
		var p wire.Message
		if p.Parse(header[:len(header)-8]) == nil {
			t.Error("header cut by its last word accepted")
		}
		if p.Parse(append(bytes.Clone(header), 0xff)) != nil {
			t.Error("bytes behind the header are looked at")
		}
	}
}

func TestHeaderPaddingIsZero(t *testing.T) {
	m := plain(2)
	without(9)(&m)
	for _, last := range []field{{6, "s", ":1.4"}, {200, "s", "x"}, {8, "g", "su"}} {
		m.fields = []field{{5, "u", uint32(1)}, last}
		header, _ := m.bytes()
		bytesVerdict(t, true, "zero", header)
		header[len(header)-1] = 1
		bytesVerdict(t, false, "padding at the end", header)
		m.fields = []field{last, {5, "u", uint32(1)}}
		header, _ = m.bytes()
		header[len(header)-9] = 1
		bytesVerdict(t, false, "padding between fields", header)
	}
}

func TestMessageHasAtMost128MiB(t *testing.T) {
	m := plain(1)
	m.body, m.sig = nil, ""
	header, _ := m.bytes()
	m.bodyLen = wire.MaxMessage - len(header)
	header, _ = m.bytes()
	if _, total, err := wire.Frame(header); err != nil || total != wire.MaxMessage {
		t.Errorf("Frame = %d, %v", total, err)
	}
	m.bodyLen++
	header, _ = m.bytes()
	bytesVerdict(t, false, "one byte more", header)
	copy(header[4:8], "\xff\xff\xff\xff")
	bytesVerdict(t, false, "4 GiB", header)
}

func TestFieldsHaveAtMost64MiB(t *testing.T) {
	fixed := []byte("l\x01\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04")
	if size, _, err := wire.Frame(fixed); err != nil || size != 16+wire.MaxArray {
		t.Errorf("Frame = %d, %v", size, err)
	}
	fixed[12] = 1
	if _, _, err := wire.Frame(fixed); err == nil {
		t.Error("one byte more accepted")
	}
}

func TestFrameNeedsTheFixedHeader(t *testing.T) {
	header, _ := (&message{kind: 5, serial: 1}).bytes()
	for n := range wire.FixedHeader {
		if _, _, err := wire.Frame(header[:n]); err == nil {
			t.Errorf("%d bytes accepted", n)
		}
	}
	if size, total, err := wire.Frame(header); size != 16 || total != 16 || err != nil {
		t.Errorf("Frame = %d, %d, %v", size, total, err)
	}
}

func TestByteOrderIsLittleOrBig(t *testing.T) {
	m := plain(1)
	header, _ := m.bytes()
	for c := range 256 {
		if header[0] = byte(c); c != 'l' && c != 'B' {
			bytesVerdict(t, false, fmt.Sprintf("byte order %d", c), header)
		}
	}
}

func TestTypeZeroIsInvalid(t *testing.T) {
	headers(t, false, "type 0", plain(1), func(m *message) { m.kind = 0 })
}

func TestUnknownTypesAreAccepted(t *testing.T) {
	for kind := 5; kind < 256; kind++ {
		headers(t, true, "unknown type", message{kind: byte(kind), serial: 1}, func(*message) {})
	}
}

func TestUnknownFlagsAreKept(t *testing.T) {
	m := plain(1)
	m.flags = 0xff
	header, _ := m.bytes()
	if p := parsed(t, header); p.Flags != 0xff {
		t.Errorf("flags %x", p.Flags)
	}
}

func TestVersionIsOne(t *testing.T) {
	m := plain(1)
	header, _ := m.bytes()
	for c := range 256 {
		header[3] = byte(c)
		bytesVerdict(t, c == 1, fmt.Sprintf("version %d", c), header)
	}
}

func TestSerialIsNotZero(t *testing.T) {
	headers(t, false, "serial 0", plain(1), func(m *message) { m.serial = 0 })
}

func TestFieldsRequiredByType(t *testing.T) {
	need := map[byte][]byte{1: {1, 3}, 2: {5}, 3: {4, 5}, 4: {1, 2, 3}}
	for kind := byte(1); kind <= 4; kind++ {
		for _, f := range plain(kind).fields {
			headers(t, !slices.Contains(need[kind], f.code), fmt.Sprintf("type %d without field %d", kind, f.code), plain(kind), without(f.code))
		}
	}
}

func TestUnknownFieldsAreAcceptedAndChecked(t *testing.T) {
	for code := 10; code < 256; code++ {
		headers(t, true, "unknown field", plain(1), with(field{byte(code), "a{sv}", []any{[]any{"k", variant{"u", uint32(1)}}}}))
		headers(t, true, "unknown field", plain(1), func(m *message) {
			m.fields = append(m.fields, field{byte(code), "s", "1"}, field{byte(code), "u", uint32(2)}) // more than once
		})
	}
	headers(t, false, "unknown field of two types", plain(1), with(field{99, "yy", byte(1)}))
	headers(t, false, "unknown field, boolean 2", plain(1), with(field{99, "b", uint32(2)}))
	headers(t, false, "unknown field, bad path", plain(1), with(field{99, "o", "x"}))
}

func TestUnknownFieldsNestAtMost64Deep(t *testing.T) {
	for n := 55; n < 70; n++ {
		v := variant{"y", byte(1)}
		for range n {
			v = variant{"v", v}
		}
		// The array of fields, the struct and the field's own variant count.
		headers(t, 3+n <= 64, fmt.Sprintf("%d variants", n), plain(1), with(field{99, v.sig, v.value}))
	}
}

func TestKnownFieldsInUnexpectedMessagesAreAccepted(t *testing.T) {
	headers(t, true, "signal with reply serial", plain(4), with(field{5, "u", uint32(3)}))
	headers(t, true, "call with error name", plain(1), with(field{4, "s", "a.b"}))
}

func TestKnownFieldsOfAnotherTypeAreInvalid(t *testing.T) {
	values := map[string]any{
		"y": byte(1), "q": uint16(1), "u": uint32(1), "i": uint32(1), "b": uint32(1), "h": uint32(1), "t": uint64(1),
		"s": "a.b", "o": "/a", "g": "s", "v": variant{"s", "a.b"}, "as": []any{"a.b"}, "(s)": []any{"a.b"},
	}
	right := " osssussgu"
	for code := byte(1); code <= 9; code++ {
		for sig, v := range values {
			if sig != right[code:code+1] {
				headers(t, false, fmt.Sprintf("field %d of type %s", code, sig), plain(1), with(field{code, sig, v}))
			}
		}
	}
}

func TestFieldZeroIsInvalid(t *testing.T) {
	headers(t, false, "field 0", plain(1), with(field{0, "s", "x"}))
}

func TestKnownFieldsOccurOnce(t *testing.T) {
	for _, f := range append(plain(1).fields, field{7, "s", ":1.1"}, field{4, "s", "a.b"}, field{5, "u", uint32(1)}) {
		headers(t, false, fmt.Sprintf("field %d twice", f.code), plain(1), func(m *message) {
			with(f)(m)
			m.fields = append(m.fields, f)
		})
	}
}

// systemd/systemd#28514: clients do send these, by mistake.
func TestLocalPathAndInterfaceAreInvalid(t *testing.T) {
	for kind := byte(1); kind <= 5; kind++ {
		headers(t, false, "local path", plain(kind), with(field{1, "o", "/org/freedesktop/DBus/Local"}))
		headers(t, false, "local interface", plain(kind), with(field{2, "s", "org.freedesktop.DBus.Local"}))
		headers(t, true, "path below", plain(kind), with(field{1, "o", "/org/freedesktop/DBus/Local/x"}))
		headers(t, true, "interface below", plain(kind), with(field{2, "s", "org.freedesktop.DBus.Local.X"}))
	}
}

func TestReplySerialIsNotZero(t *testing.T) {
	headers(t, false, "reply serial 0", plain(2), with(field{5, "u", uint32(0)}))
}

func TestSignatureFieldIsChecked(t *testing.T) {
	for _, sig := range []string{"a", "()", "a{vs}", "r"} {
		headers(t, false, "signature "+sig, plain(1), with(field{8, "g", sig}))
	}
	headers(t, true, "no signature", message{kind: 5, serial: 1}, with(field{8, "g", ""}))
}

func TestNamesInFieldsAreChecked(t *testing.T) {
	good := map[byte]string{1: "/a", 2: "a.b", 3: "a", 4: "a.b", 6: "a.b", 7: ":1.1"}
	for code, bad := range map[byte]string{1: "a", 2: "a", 3: "a.b", 4: "a", 6: "a", 7: "a"} {
		kind := "s"
		if code == 1 {
			kind = "o"
		}
		headers(t, false, fmt.Sprintf("field %d %s", code, bad), plain(1), with(field{code, kind, bad}))
		headers(t, false, fmt.Sprintf("field %d empty", code), plain(1), with(field{code, kind, ""}))
		headers(t, false, fmt.Sprintf("field %d with NUL", code), plain(1), with(field{code, kind, good[code] + "\x00"}))
		headers(t, true, fmt.Sprintf("field %d", code), plain(1), with(field{code, kind, good[code]}))
	}
}

func TestFieldsLieWithinTheHeader(t *testing.T) {
	for _, big := range []bool{false, true} {
		for kind := byte(1); kind <= 4; kind++ {
			m := plain(kind)
			m.big = big
			m.fields = append(m.fields, field{99, "as", []any{"x", "y"}})
			header, _ := m.bytes()
			at := 12
			if big {
				at = 15
			}
			for n := range 256 { // any other length of the array of fields
				old := header[at]
				header[at] = byte(n)
				var p wire.Message
				if size, _, err := wire.Frame(header); err == nil && size <= len(header) {
					_, ref := parseNaive(header[:size])
					bytesVerdict(t, ref == nil, fmt.Sprintf("fields of %d bytes", n), header[:size])
				} else if p.Parse(header) == nil {
					t.Errorf("fields of %d bytes beyond the end accepted", n)
				}
				header[at] = old
			}
		}
	}
}

func TestParsedFields(t *testing.T) {
	for _, big := range []bool{false, true} {
		m := message{big: big, kind: 4, flags: 2, serial: 0x01020304, sig: "y", body: []any{byte(1)}, fields: []field{
			{1, "o", "/a"}, {2, "s", "b.c"}, {3, "s", "D"}, {4, "s", "e.f"}, {5, "u", uint32(0x11121314)}, {6, "s", "g.h"}, {7, "s", ":1.2"}, {8, "g", "y"}, {9, "u", uint32(3)},
		}}
		header, body := m.bytes()
		p := parsed(t, header)
		got := fmt.Sprint(p.Type, p.Flags, p.Serial, p.BigEndian, p.Path, p.Interface, p.Member, p.ErrorName, p.ReplySerial, p.Destination, p.Sender, p.Signature, p.UnixFDs, p.HeaderLen, p.BodyLen)
		want := fmt.Sprint("signal ", 2, 0x01020304, big, "/a", "b.c", "D", "e.f", 0x11121314, "g.h", ":1.2", "y", 3, len(header), len(body))
		if got != want {
			t.Errorf("parsed\n got %s\nwant %s", got, want)
		}
		// Parse overwrites all of it.
		header, _ = (&message{kind: 9, serial: 1}).bytes()
		if err := p.Parse(header); err != nil {
			t.Fatal(err)
		}
		if left := p.Path + p.Interface + p.Member + p.ErrorName + p.Destination + p.Sender + p.Signature; left != "" || p.ReplySerial != 0 || p.UnixFDs != 0 {
			t.Errorf("left from the message before: %q, %d, %d", left, p.ReplySerial, p.UnixFDs)
		}
	}
}

func TestTypesAreCalledAsInMatchRules(t *testing.T) {
	for kind, name := range map[wire.Type]string{wire.MethodCall: "method_call", wire.MethodReturn: "method_return", wire.ErrorReply: "error", wire.Signal: "signal"} {
		if got, known := wire.ParseType(name); kind.String() != name || got != kind || !known {
			t.Errorf("%d is called %s, and %s is %d", kind, kind, name, got)
		}
	}
	for kind, text := range map[wire.Type]string{0: "0", 5: "5", 255: "255"} {
		if _, known := wire.ParseType(text); kind.String() != text || known {
			t.Errorf("%d is called %s, and may be given so: %v", kind, kind, known)
		}
	}
	if _, known := wire.ParseType(""); known {
		t.Error("no name is one")
	}
}
