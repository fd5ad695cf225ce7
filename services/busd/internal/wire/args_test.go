package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/wire"
)

// argsOf lists the arguments of a body in text.
func argsOf(t *testing.T, sig string, big bool, values ...any) string {
	t.Helper()
	m := message{big: big, kind: 9, serial: 1, sig: sig, body: values, fields: []field{{8, "g", sig}}}
	header, body := m.bytes()
	p := parsed(t, header)
	if err := p.CheckBody(body); err != nil {
		t.Fatal(err)
	}
	checkArgs(t, p, body)
	var out []string
	for args := p.Args(body); ; {
		kind, value, ok := args.Next()
		if !ok {
			return strings.Join(out, " ")
		}
		out = append(out, fmt.Sprintf("%c%s", kind, value))
	}
}

// dbus-broker NEWS 37 (f805f41): arguments behind ones that are not strings.
func TestArgumentsBehindOtherTypesAreFound(t *testing.T) {
	for _, big := range []bool{false, true} {
		got := argsOf(t, "yqutbda{sv}(ys)vasogavs", big,
			byte(1), uint16(2), uint32(3), uint64(4), uint32(1), uint64(6),
			[]any{[]any{"k", variant{"s", "v"}}}, []any{byte(1), "in"}, variant{"(a(ys)y)", []any{[]any{[]any{byte(1), "x"}}, byte(2)}},
			[]any{"a", "bc"}, "/path", "a{sv}", []any{variant{"v", variant{"x", uint64(1)}}}, "last")
		if want := "y q u t b d a ( v a o/path ga{sv} a slast"; got != want {
			t.Errorf("big=%v\n got %s\nwant %s", big, got, want)
		}
	}
}

func TestOnly64ArgumentsAreShown(t *testing.T) {
	var values []any
	for i := range 100 {
		values = append(values, fmt.Sprint(i))
	}
	got := strings.Fields(argsOf(t, strings.Repeat("s", 100), false, values...))
	if len(got) != 64 || got[63] != "s63" {
		t.Errorf("%d arguments: %v", len(got), got)
	}
}

func TestNoArguments(t *testing.T) {
	if got := argsOf(t, "", false); got != "" {
		t.Error(got)
	}
}

// Args of a body nobody has checked stop, whatever is in it.
func TestArgumentsOfABrokenBodyEnd(t *testing.T) {
	m := message{kind: 9, serial: 1, fields: []field{{8, "g", "sa(v)vs"}}}
	header, _ := m.bytes()
	p := parsed(t, header)
	for n := range 64 {
		body := make([]byte, n)
		for i := range body {
			body[i] = byte(i*37 + n)
		}
		args := p.Args(body)
		for i := 0; ; i++ {
			if _, _, ok := args.Next(); !ok {
				break
			}
			if i > 4 {
				t.Fatal("more arguments than the signature has")
			}
		}
	}
}

func TestDecoderReadsWhatEncoderWrote(t *testing.T) {
	for lead := range 9 {
		e := wire.Encoder{Buf: make([]byte, lead)}
		e.Begin(wire.Header{Type: wire.Signal, Serial: 1, Path: "/a", Interface: "b.c", Member: "D", Signature: "ybusga{sv}(ty)ouxi"})
		e.Byte(1)
		e.Bool(true)
		e.Uint32(3)
		e.String("four")
		e.Signature("a{sv}")
		all := e.OpenArray(8)
		e.DictEntry()
		e.String("k")
		e.Variant("as")
		in := e.OpenArray(4)
		e.String("x")
		e.String("yz")
		e.CloseArray(in)
		e.DictEntry()
		e.String("l")
		e.Variant("b")
		e.Bool(false)
		e.CloseArray(all)
		e.Struct()
		e.Uint64(5)
		e.Byte(6)
		e.ObjectPath("/o")
		e.Uint32(7)
		e.Uint64(8)
		e.Int32(-9)
		e.End()
		b := e.Buf[lead:]
		if err := judge(t, b); err != nil {
			t.Fatal(err)
		}
		var m wire.Message
		if err := parseWhole(&m, b); err != nil {
			t.Fatal(err)
		}
		d := m.Decode(b[m.HeaderLen:])
		var got []any
		got = append(got, d.Byte(), d.Bool(), d.Uint32(), d.String(), d.Signature())
		for end := d.Array(8); d.More(end); {
			d.Struct()
			got = append(got, d.String())
			if sig := d.Variant(); sig == "as" {
				for end := d.Array(4); d.More(end); {
					got = append(got, d.String())
				}
			} else {
				d.Skip(sig)
			}
		}
		d.Skip("(ty)")
		got = append(got, d.String(), d.Uint32())
		d.Skip("x")
		got = append(got, int32(d.Uint32()), d.Err())
		if want := "[1 true 3 four a{sv} k x yz l /o 7 -9 <nil>]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
		if d.Byte(); d.Err() == nil {
			t.Error("read beyond the end")
		}
		if d.String() != "" || d.Array(8) != 0 || d.More(100) || d.Signature() != "" {
			t.Error("values after an error")
		}
	}
}

func TestEncodersHeaderIsWhatParseReads(t *testing.T) {
	h := wire.Header{
		Type: wire.ErrorReply, Flags: wire.NoReplyExpected, Serial: 5, ReplySerial: 6, UnixFDs: 7, Path: "/a", Interface: "b.c", Member: "D",
		ErrorName: "e.f", Destination: ":1.8", Sender: "org.freedesktop.DBus", Signature: "",
	}
	var e wire.Encoder
	e.Begin(h)
	e.End()
	p := parsed(t, e.Buf)
	got := wire.Header{
		Type: p.Type, Flags: p.Flags, Serial: p.Serial, ReplySerial: p.ReplySerial, UnixFDs: p.UnixFDs, Path: p.Path, Interface: p.Interface,
		Member: p.Member, ErrorName: p.ErrorName, Destination: p.Destination, Sender: p.Sender, Signature: p.Signature,
	}
	if got != h || p.BodyLen != 0 {
		t.Errorf("got %+v, want %+v", got, h)
	}
}

// A message is too long when it is, or an array of it; the next one is not.
func TestEncoderKnowsWhatIsTooLong(t *testing.T) {
	var e wire.Encoder
	for _, v := range []struct {
		first, second int // arrays of bytes
		long          bool
	}{
		{wire.MaxArray, 0, false},
		{wire.MaxArray + 1, 0, true},
		{0, wire.MaxArray, false},
		{wire.MaxArray, wire.MaxArray, true}, // with the header
		{0, 0, false},
	} {
		e.Buf = e.Buf[:0]
		e.Begin(wire.Header{Type: wire.Signal, Serial: 1, Path: "/", Interface: "a.b", Member: "C", Signature: "ayay"})
		for _, n := range []int{v.first, v.second} {
			mark := e.OpenArray(1)
			e.Buf = append(e.Buf, make([]byte, n)...)
			e.CloseArray(mark)
		}
		if e.End(); e.TooLong() != v.long {
			t.Errorf("with arrays of %d and %d bytes: too long: %t", v.first, v.second, e.TooLong())
		}
	}
}
