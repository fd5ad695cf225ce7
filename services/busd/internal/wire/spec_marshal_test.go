package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/wire"
)

// One test for each sentence of the specification's chapter "Marshaling (Wire
// Format)", in the chapter's order.

func TestBodyIsReadInTheByteOrderOfTheHeader(t *testing.T) {
	for _, big := range []bool{false, true} {
		n := naive{big: big}
		for i, v := range []any{"text", uint32(5), []any{uint32(1), uint32(2)}} {
			n.write(types("suai")[i], v)
		}
		if err := verdict(t, "suai", n.b, big); err != nil {
			t.Errorf("big=%v: %v", big, err)
		}
		if verdict(t, "suai", n.b, !big) == nil {
			t.Errorf("big=%v: accepted in the other byte order", big)
		}
	}
}

func TestValuesAreAlignedNaturally(t *testing.T) {
	for sig, align := range map[string]int{"n": 2, "q": 2, "i": 4, "u": 4, "b": 4, "h": 4, "x": 8, "t": 8, "d": 8} {
		accepts(t, "y"+sig, make([]byte, 2*align)...)
		refuses(t, "y"+sig, make([]byte, 2*align-1)...)
		refuses(t, "y"+sig, make([]byte, align+1)...)
	}
}

func TestPaddingIsMinimal(t *testing.T) {
	accepts(t, "yu", make([]byte, 8)...)
	refuses(t, "yu", make([]byte, 12)...)
	refuses(t, "y(y)", make([]byte, 17)...)
}

func TestPaddingIsZero(t *testing.T) {
	for _, test := range []struct {
		sig string
		n   int
		pad []int
	}{
		{"yq", 4, []int{1}},
		{"yu", 8, []int{1, 2, 3}},
		{"yt", 16, []int{1, 2, 3, 4, 5, 6, 7}},
		{"y(y)", 9, []int{1, 2, 3, 4, 5, 6, 7}},
		{"ys", 9, []int{1, 2, 3}},
		{"yay", 8, []int{1, 2, 3}},
		{"at", 8, []int{4, 5, 6, 7}}, // an empty array has it too
		{"a{ss}", 8, []int{4, 5, 6, 7}},
	} {
		body := make([]byte, test.n)
		accepts(t, test.sig, body...)
		for _, i := range test.pad {
			body[i] = 1
			refuses(t, test.sig, body...)
			body[i] = 0
		}
	}
}

func TestStructsAndDictEntriesAreAlignedTo8(t *testing.T) {
	accepts(t, "y(y)", make([]byte, 9)...)
	refuses(t, "y(y)", make([]byte, 2)...)
	accepts(t, "a{yy}", 2, 0, 0, 0, 0, 0, 0, 0, 1, 2)
	refuses(t, "a{yy}", 2, 0, 0, 0, 1, 2)
	accepts(t, "a(y)", 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2)
	refuses(t, "a(y)", 2, 0, 0, 0, 0, 0, 0, 0, 1, 2)
}

func TestStringsFollowEachOtherWithPadding(t *testing.T) {
	body := []byte("\x03\x00\x00\x00foo\x00\x01\x00\x00\x00+\x00\x00\x00\x03\x00\x00\x00bar\x00")
	accepts(t, "sss", body...)
	body[14] = 1
	refuses(t, "sss", body...)
}

func TestSignatureNeedsNoPadding(t *testing.T) {
	accepts(t, "ygyv", 1, 2, 'i', 'i', 0, 9, 1, 'y', 0, 3)
}

func TestStringLiesWithinTheMessage(t *testing.T) {
	for _, n := range []byte{3, 4, 255} {
		refuses(t, "s", n, 0, 0, 0, 'a', 'b', 0)
		refuses(t, "o", n, 0, 0, 0, '/', 'b', 0)
		refuses(t, "g", n, 'y', 'y', 0)
	}
	refuses(t, "s", 0xff, 0xff, 0xff, 0xff, 'a', 'b', 0)
	refuses(t, "s", 0, 0, 0)
	refuses(t, "s", 0, 0, 0, 0)
	refuses(t, "g", 0)
	refuses(t, "g")
}

func TestSignatureValuesAreChecked(t *testing.T) {
	accepts(t, "g", 0, 0)
	accepts(t, "g", 5, 'a', '{', 's', 'v', '}', 0)
	refuses(t, "g", 1, 'a', 0)
	refuses(t, "g", 4, '{', 's', 'v', '}', 0)
}

func TestArrayLengthLeavesOutThePaddingBefore(t *testing.T) {
	five := []byte{0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}
	if err := verdict(t, "at", five, true); err != nil {
		t.Error(err)
	}
	five[3] = 12
	if verdict(t, "at", five, true) == nil {
		t.Error("length with the padding accepted")
	}
}

func TestArrayLengthLeavesOutThePaddingBehind(t *testing.T) {
	accepts(t, "a(y)y", 1, 0, 0, 0, 0, 0, 0, 0, 7, 9)
	refuses(t, "a(y)", 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0)
	refuses(t, "as", 8, 0, 0, 0, 1, 0, 0, 0, 'a', 0, 0, 0)
}

// CVE-2022-42011.
func TestArrayIsAMultipleOfItsElements(t *testing.T) {
	for sig, size := range map[string]int{"n": 2, "q": 2, "b": 4, "i": 4, "u": 4, "h": 4, "x": 8, "t": 8, "d": 8} {
		for n := range 33 {
			body := make([]byte, max(4, size)+n)
			body[0] = byte(n)
			if n%size == 0 {
				accepts(t, "a"+sig, body...)
			} else {
				refuses(t, "a"+sig, body...)
			}
		}
	}
}

func TestArrayLiesWithinTheMessage(t *testing.T) {
	accepts(t, "ay", 2, 0, 0, 0, 1, 2)
	refuses(t, "ay", 3, 0, 0, 0, 1, 2)
	refuses(t, "ay", 1, 0, 0, 0, 1, 2)
	refuses(t, "as", 4, 0, 0, 0, 1, 0, 0, 0, 'a', 0)
	refuses(t, "ay", 0xff, 0xff, 0xff, 0xff)
	refuses(t, "at", 0, 0, 0, 0) // even an empty one is padded to its elements
	refuses(t, "ay", 0, 0, 0)
	refuses(t, "aay", 8, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4)
	refuses(t, "aayy", 8, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5)
}

func TestArrayHasAtMost64MiB(t *testing.T) {
	body := make([]byte, 4+wire.MaxArray+8)
	body[3] = 4
	accepts(t, "ay", body[:4+wire.MaxArray]...)
	body[0] = 1
	refuses(t, "ay", body[:5+wire.MaxArray]...)
}

func TestVariantNeedsNoPadding(t *testing.T) {
	accepts(t, "yv", 1, 1, 'u', 0, 5, 0, 0, 0)
	accepts(t, "yyv", 1, 1, 1, 'u', 0, 0, 0, 0, 5, 0, 0, 0)
}

func TestVariantValueIsChecked(t *testing.T) {
	refuses(t, "v", 1, 'b', 0, 0, 2, 0, 0, 0)
	refuses(t, "v", 1, 's', 0, 0, 1, 0, 0, 0, 0xff, 0)
	refuses(t, "v", 1, 'o', 0, 0, 1, 0, 0, 0, 'x', 0)
	refuses(t, "v", 1, 'u', 0, 1, 0, 0, 0, 0)
	refuses(t, "v", 1, 'u', 0, 0, 0, 0, 0)
	refuses(t, "v", 1, 'u', 1, 0, 0, 0, 0, 0)
	refuses(t, "v", 1, 'g', 0, 1, 'a', 0)
	refuses(t, "v", 5, 'y', 0)
	refuses(t, "v", 1)
	refuses(t, "v")
}

func TestBodyIsReadToItsEnd(t *testing.T) {
	refuses(t, "", 0)
	refuses(t, "y", 0, 0)
	refuses(t, "y")
	refuses(t, "yy", 0)
	m := plain(2)
	header, body := m.bytes()
	p := parsed(t, header)
	if p.CheckBody(body[:len(body)-1]) == nil || p.CheckBody(append(body, 0)) == nil {
		t.Error("body of another length than announced accepted")
	}
}

// An array of nothing but empty arrays must cost what its bytes cost, whatever
// the length of the innermost type.
func TestEmptyArraysOfLongTypes(t *testing.T) {
	long := "a(" + strings.Repeat("y", 240) + ")"
	for _, sig := range []string{"a" + long, "a(" + long + ")", "a(y" + long + "y)", "a{y" + long + "}"} {
		n := naive{}
		var all []any
		for range 50 {
			switch sig[1] {
			case 'a':
				all = append(all, []any{})
			case '{':
				all = append(all, []any{byte(1), []any{}})
			default:
				e := []any{byte(1), []any{}, byte(2)}
				if sig[2] == 'a' {
					e = []any{[]any{}}
				}
				all = append(all, e)
			}
		}
		n.write(sig, all)
		accepts(t, sig, n.b...)
		refuses(t, sig, n.b[:len(n.b)-1]...)
	}
}

// bus1/dbus-broker#291, CVE-2022-42010: nothing is read beyond the message,
// wherever it is cut and whatever a byte of it is changed to.
func TestBrokenMessagesAreJudgedAsTheNaiveCodecDoes(t *testing.T) {
	for _, big := range []bool{false, true} {
		m := plain(4)
		m.big = big
		m.sig = "sa{sv}a(yt)gvobn"
		m.body = []any{"text", []any{[]any{"k", variant{"as", []any{"a", "bc"}}}, []any{"l", variant{"v", variant{"b", uint32(1)}}}},
			[]any{[]any{byte(1), uint64(2)}, []any{byte(3), uint64(4)}}, "a{sv}", variant{"(sv)", []any{"x", variant{"x", uint64(3)}}}, "/a/b", uint32(1), uint16(7)}
		m.fields = append(m.fields, field{77, "a(sv)", []any{[]any{"x", variant{"u", uint32(3)}}}}, field{7, "s", ":1.7"})
		for i := range m.fields {
			if m.fields[i].code == 8 {
				m.fields[i].value = m.sig
			}
		}
		header, body := m.bytes()
		whole := append(bytes.Clone(header), body...)
		if err := judge(t, whole); err != nil {
			t.Fatal(err)
		}
		for n := range whole {
			if judge(t, bytes.Clone(whole[:n])) == nil {
				t.Fatalf("accepted when cut to %d of %d bytes", n, len(whole))
			}
		}
		for i := range whole {
			old := whole[i]
			for bit := range 8 {
				whole[i] = old ^ 1<<bit
				judge(t, whole)
			}
			for _, c := range []byte("\x00\x01\x02\x08\xffabgsvy({.:/") {
				whole[i] = c
				judge(t, whole)
			}
			whole[i] = old
		}
	}
}

// judge parses a whole message with both codecs, compares the verdicts, and
// for an accepted one what is made of it.
func judge(t testing.TB, b []byte) error {
	t.Helper()
	var m wire.Message
	err := parseWhole(&m, b)
	ref := naiveWhole(b)
	if (err == nil) != (ref == nil) {
		t.Fatalf("message %q:\n      got %v\nnaive got %v", b, err, ref)
	}
	if err == nil {
		for _, sender := range []string{"", ":1.1", ":1.23456"} {
			checkForwarded(t, b[:m.HeaderLen], sender, 3)
		}
		checkArgs(t, &m, b[m.HeaderLen:])
	}
	return err
}

func parseWhole(m *wire.Message, b []byte) error {
	header, total, err := wire.Frame(b)
	if err != nil {
		return err
	}
	if total != len(b) {
		return fmt.Errorf("message of %d bytes, have %d", total, len(b))
	}
	if err := m.Parse(b[:header]); err != nil {
		return err
	}
	return m.CheckBody(b[header:])
}

func naiveWhole(b []byte) (err error) {
	defer recovered(&err)
	must(len(b) >= 16 && (b[0] == 'l' || b[0] == 'B'), "too short")
	n := naive{b: b, pos: 12, big: b[0] == 'B'}
	header := (16 + int(n.read("u", 0).(uint32)) + 7) / 8 * 8
	must(header <= len(b), "header longer than message")
	m, err := parseNaive(b[:header])
	if err != nil {
		return err
	}
	must(m.bodyLen == len(b)-header, "body length")
	_, err = readAll(m.sig, b[header:], m.big)
	return err
}

// checkArgs compares Args with the naive reading of a valid body.
func checkArgs(t testing.TB, m *wire.Message, body []byte) {
	t.Helper()
	want, err := readAll(m.Signature, body, m.BigEndian)
	if err != nil {
		t.Fatal(err)
	}
	args := m.Args(body)
	for i, one := range types(m.Signature) {
		kind, value, ok := args.Next()
		if i == 64 {
			if ok {
				t.Fatal("more than 64 arguments")
			}
			break
		}
		s, _ := want[i].(string)
		if !ok || kind != one[0] || value != s {
			t.Fatalf("argument %d of %s: %c %q %v, want %q", i, m.Signature, kind, value, ok, s)
		}
	}
	if _, _, ok := args.Next(); ok {
		t.Fatal("an argument behind the last one")
	}
	d := m.Decode(body)
	d.Skip(m.Signature)
	if d.Err() != nil || d.More(len(body)) {
		t.Fatalf("Skip(%s) of %q: %v", m.Signature, body, d.Err())
	}
}
