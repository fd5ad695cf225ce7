package wire_test

import (
	"bytes"
	"testing"

	"quartet/services/busd/internal/wire"
)

// FuzzParse: whole messages. Both codecs agree on the verdict, and what is
// forwarded of an accepted one is what the naive codec makes of it.
func FuzzParse(f *testing.F) {
	for kind := byte(1); kind <= 5; kind++ {
		for _, big := range []bool{false, true} {
			m := plain(kind)
			m.big = big
			header, body := m.bytes()
			f.Add(append(header, body...))
			m.fields = append(m.fields, field{7, "s", ":1.5"}, field{99, "a{sv}", []any{[]any{"k", variant{"(yt)", []any{byte(1), uint64(2)}}}}})
			header, body = m.bytes()
			f.Add(append(header, body...))
		}
	}
	f.Add([]byte("l\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 1<<16 {
			judge(t, b)
		}
	})
}

// FuzzBody: bodies of any signature, in either byte order.
func FuzzBody(f *testing.F) {
	for _, sig := range []string{"sa{sv}as", "a(yt)gvo", "aab", "ay", "v", "a{y(sv)}n", "aaaaas"} {
		f.Add(sig, make([]byte, 40), false)
		f.Add(sig, nested(20), true)
	}
	f.Add("a{sv}", []byte("\x0b\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00k\x00\x01y\x00\x07"), false)
	f.Fuzz(func(t *testing.T, sig string, body []byte, big bool) {
		if len(body) > 1<<16 || naiveSignature(sig) != nil {
			return
		}
		err := verdict(t, sig, body, big)
		if _, ref := readAll(sig, body, big); (err == nil) != (ref == nil) {
			t.Fatalf("%s %q big=%v:\n      got %v\nnaive got %v", sig, body, big, err, ref)
		}
	})
}

// FuzzEncode: what Encoder writes is valid and reads back as it was.
func FuzzEncode(f *testing.F) {
	f.Add("/a", "b.c", "D", ":1.1", "text", uint32(1), uint64(2), uint8(3), int32(-4), true)
	f.Add("/", "", "M", "", "", uint32(9), uint64(0), uint8(0), int32(0), false)
	f.Fuzz(func(t *testing.T, path, iface, member, destination, text string, u uint32, x uint64, y uint8, i int32, b bool) {
		if !wire.ValidPath(path) || iface != "" && !wire.ValidInterface(iface) || !wire.ValidMember(member) ||
			destination != "" && !wire.ValidBusName(destination) || verdict(t, "s", str(text), false) != nil || u == 0 || len(text) > 1<<16 {
			return
		}
		e := wire.Encoder{Buf: bytes.Repeat([]byte{0xee}, int(y)%9)}
		start := len(e.Buf)
		e.Begin(wire.Header{Type: wire.MethodCall, Serial: u, Path: path, Interface: iface, Member: member, Destination: destination, Signature: "sutyba(si)"})
		e.String(text)
		e.Uint32(u)
		e.Uint64(x)
		e.Byte(y)
		e.Bool(b)
		mark := e.OpenArray(8)
		for range y % 4 {
			e.Struct()
			e.String(text)
			e.Int32(i)
		}
		e.CloseArray(mark)
		e.End()
		msg := e.Buf[start:]
		if err := judge(t, msg); err != nil {
			t.Fatalf("%q: %v", msg, err)
		}
		var m wire.Message
		if err := parseWhole(&m, msg); err != nil {
			t.Fatal(err)
		}
		d := m.Decode(msg[m.HeaderLen:])
		gotText, gotU := d.String(), d.Uint32()
		d.Skip("t")
		gotY, gotB, n := d.Byte(), d.Bool(), uint8(0)
		for end := d.Array(8); d.More(end); n++ {
			d.Struct()
			if d.String() != text || int32(d.Uint32()) != i {
				t.Fatal("array element differs")
			}
		}
		if d.Err() != nil || gotText != text || gotU != u || gotY != y || gotB != b || n != y%4 ||
			m.Path != path || m.Interface != iface || m.Member != member || m.Destination != destination || m.Serial != u {
			t.Fatalf("read back otherwise: %+v", m)
		}
	})
}

// FuzzSignature: both codecs agree on signatures.
func FuzzSignature(f *testing.F) {
	for _, s := range []string{"", "sa{sv}as", "a(yt)", "a{i(u}", "((((y))))", "aaaa", "a{sa{sv}}", "a{ss}y", "a{ay}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := wire.ValidSignature(s), naiveSignature(s) == nil; got != want {
			t.Fatalf("ValidSignature(%q) = %v", s, got)
		}
	})
}

// FuzzNames: both codecs agree on names and text.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "a.b", ":1.1", "/a/b", "Poke", "é\x00", "com.example.Name-2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkNames(t, s)
		if len(s) < 1<<16 {
			_, ref := readAll("s", str(s), false)
			if err := verdict(t, "s", str(s), false); (err == nil) != (ref == nil) {
				t.Fatalf("text %q: got %v, naive got %v", s, err, ref)
			}
		}
	})
}
