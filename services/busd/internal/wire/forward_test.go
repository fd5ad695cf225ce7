package wire_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quartet/services/busd/internal/wire"
)

// plain is a valid message of every type, without SENDER.
func plain(kind byte) message {
	m := message{kind: kind, flags: 1, serial: 7, sig: "su", body: []any{"hé", uint32(9)}}
	if kind == 1 || kind == 4 {
		m.fields = append(m.fields, field{1, "o", "/com/example/Thing"}, field{2, "s", "com.example.Thing"}, field{3, "s", "Poke"})
	}
	if kind == 3 {
		m.fields = append(m.fields, field{4, "s", "com.example.Error"})
	}
	if kind == 2 || kind == 3 {
		m.fields = append(m.fields, field{5, "u", uint32(12)})
	}
	m.fields = append(m.fields, field{6, "s", ":1.42"}, field{8, "g", "su"}, field{9, "u", uint32(0)})
	return m
}

func parsed(t testing.TB, header []byte) *wire.Message {
	t.Helper()
	var m wire.Message
	if err := m.Parse(header); err != nil {
		t.Fatalf("Parse(%q): %v", header, err)
	}
	return &m
}

// checkForwarded compares AppendHeader with the naive re-marshalling, behind
// dst bytes of garbage, and parses the result again.
func checkForwarded(t testing.TB, header []byte, sender string, dst int) {
	t.Helper()
	ref, err := parseNaive(header)
	if err != nil {
		t.Fatalf("naive parse of %q: %v", header, err)
	}
	m := parsed(t, header)
	// Room behind dst is full of garbage too: nothing may be left of it.
	buf := bytes.Repeat([]byte{0xee}, dst+len(header)+400)[:dst]
	out := m.AppendHeader(buf, sender)
	if !bytes.Equal(out[:dst], buf) {
		t.Fatal("AppendHeader changed what was there")
	}
	got := out[dst:]
	if want := ref.forwarded(sender); !bytes.Equal(got, want) {
		t.Fatalf("header %q\nsender %q\n got %q\nwant %q", header, sender, got, want)
	}
	if exact := m.AppendHeader(slices.Clip(make([]byte, dst)), sender)[dst:]; !bytes.Equal(exact, got) {
		t.Fatal("AppendHeader depends on the room behind dst")
	}
	if m.Fits(sender) {
		checkSame(t, m, parsed(t, got), sender)
	}
}

// checkSame checks that two parsed headers agree in all but sender.
func checkSame(t testing.TB, a, b *wire.Message, sender string) {
	t.Helper()
	show := func(m *wire.Message, sender string) string {
		return fmt.Sprint(m.Type, m.Flags, m.Serial, m.BigEndian, m.BodyLen, m.ReplySerial, m.UnixFDs) +
			fmt.Sprintf("%q", []string{m.Path, m.Interface, m.Member, m.ErrorName, m.Destination, sender, m.Signature})
	}
	if x, y := show(a, sender), show(b, b.Sender); x != y {
		t.Fatalf("forwarded header differs:\nsent %s\n got %s", x, y)
	}
}

// senders are names of every length a sender may have.
func senders() (all []string) {
	all = append(all, "")
	for n := 4; n <= 255; n++ {
		all = append(all, ":1."+strings.Repeat("7", n-3))
	}
	return all
}

func TestForwardedHeaderIsAReMarshalling(t *testing.T) {
	sender := field{7, "s", ":1.999"}
	strange := field{200, "a{sv}", []any{[]any{"k", variant{"(yt)", []any{byte(1), uint64(2)}}}, []any{"", variant{"as", []any{}}}}}
	container := field{10, "o", "/org/freedesktop/DBus/Containers1/c1"}
	for kind := byte(1); kind <= 5; kind++ {
		for _, big := range []bool{false, true} {
			base := plain(kind)
			base.big = big
			last := len(base.fields)
			extra := map[string]func(f []field) []field{
				"nothing":        func(f []field) []field { return f },
				"sender first":   func(f []field) []field { return slices.Insert(f, 0, sender) },
				"sender middle":  func(f []field) []field { return slices.Insert(f, last/2, sender) },
				"sender last":    func(f []field) []field { return append(f, sender) },
				"unknown first":  func(f []field) []field { return slices.Insert(f, 0, strange) },
				"unknown middle": func(f []field) []field { return slices.Insert(f, last/2, strange, container) },
				"unknown last":   func(f []field) []field { return append(f, container, strange) },
				"unknown twice":  func(f []field) []field { return append(slices.Insert(f, 1, strange), strange) },
				"all of them":    func(f []field) []field { return slices.Insert(append(f, sender, strange), 0, container) },
			}
			if kind == 5 {
				extra["no fields"] = func([]field) []field { return nil }
				extra["only unknown fields"] = func([]field) []field { return []field{strange, container, sender} }
			}
			for name, change := range extra {
				t.Run(fmt.Sprintf("type%d/big=%v/%s", kind, big, name), func(t *testing.T) {
					m := base
					m.fields = change(slices.Clone(base.fields))
					header, _ := m.bytes()
					for i, s := range senders() {
						checkForwarded(t, header, s, i%17)
					}
				})
			}
		}
	}
}

func TestForwardedHeaderOfRandomMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := senders()
	for range 20000 {
		m := plain(byte(1 + r.IntN(5)))
		m.big = r.IntN(2) == 0
		for i, f := range m.fields {
			if f.code == 1 {
				m.fields[i].value = "/" + strings.Repeat("x", 1+r.IntN(40))
			}
		}
		for range r.IntN(4) {
			m.fields = slices.Insert(m.fields, r.IntN(len(m.fields)+1), field{byte(10 + r.IntN(246)), "ay", randomBytes(r)})
		}
		if r.IntN(2) == 0 {
			m.fields = slices.Insert(m.fields, r.IntN(len(m.fields)+1), field{7, "s", names[1+r.IntN(252)]})
		}
		header, _ := m.bytes()
		checkForwarded(t, header, names[r.IntN(len(names))], r.IntN(100))
	}
}

func randomBytes(r *rand.Rand) []any {
	v := []any{}
	for range r.IntN(20) {
		v = append(v, byte(r.Uint32()))
	}
	return v
}

func TestMessageAtTheLimitDoesNotFitWithASender(t *testing.T) {
	m := plain(1)
	m.sig, m.body = "", nil
	header, _ := m.bytes()
	m.bodyLen = 1<<27 - len(header)
	header, _ = m.bytes()
	p := parsed(t, header)
	if p.Fits(":1.1") {
		t.Error("a message of 128 MiB fits with another field")
	}
	m.bodyLen -= 16
	header, _ = m.bytes()
	if p = parsed(t, header); !p.Fits(":1.1") || len(p.AppendHeader(nil, ":1.1"))+p.BodyLen != wire.MaxMessage {
		t.Error("a message that has just the room does not fit")
	}
}

func TestForwardingAllocatesNothing(t *testing.T) {
	for kind := byte(1); kind <= 4; kind++ {
		m := plain(kind)
		m.fields = append(m.fields, field{7, "s", ":1.1"}, field{99, "a{sv}", []any{[]any{"k", variant{"as", []any{"v"}}}}})
		header, body := m.bytes()
		dst := make([]byte, 0, 1024)
		var p wire.Message
		if n := testing.AllocsPerRun(100, func() {
			if p.Parse(header) != nil || p.CheckBody(body) != nil {
				t.Fatal("refused")
			}
			dst = p.AppendHeader(dst[:0], ":1.12345")
			for args := p.Args(body); ; {
				if _, _, ok := args.Next(); !ok {
					break
				}
			}
		}); n != 0 {
			t.Errorf("type %d: %v allocations", kind, n)
		}
	}
}
