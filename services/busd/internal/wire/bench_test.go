package wire_test

import (
	"strings"
	"testing"

	"quartet/services/busd/internal/wire"
)

// traffic is what passes on a session bus.
func traffic() map[string]message {
	call := message{kind: 1, serial: 7, fields: []field{
		{1, "o", "/org/freedesktop/portal/desktop"}, {6, "s", "org.freedesktop.portal.Desktop"}, {2, "s", "org.freedesktop.portal.Settings"}, {3, "s", "Read"}, {8, "g", "ss"},
	}, sig: "ss", body: []any{"org.freedesktop.appearance", "color-scheme"}}
	ping := message{kind: 1, serial: 7, fields: []field{
		{1, "o", "/com/example/Object"}, {6, "s", ":1.123"}, {2, "s", "com.example.Interface"}, {3, "s", "Ping"},
	}}
	reply := message{kind: 2, flags: 1, serial: 8, fields: []field{{5, "u", uint32(7)}, {6, "s", ":1.123"}, {8, "g", "u"}}, sig: "u", body: []any{uint32(1)}}
	changed := message{kind: 4, flags: 1, serial: 9, fields: []field{
		{1, "o", "/org/freedesktop/NetworkManager/Devices/3"}, {2, "s", "org.freedesktop.DBus.Properties"}, {3, "s", "PropertiesChanged"}, {8, "g", "sa{sv}as"},
	}, sig: "sa{sv}as", body: []any{"org.freedesktop.NetworkManager.Device.Wireless", []any{
		[]any{"Bitrate", variant{"u", uint32(54000)}}, []any{"LastScan", variant{"x", uint64(1 << 40)}},
		[]any{"ActiveAccessPoint", variant{"o", "/org/freedesktop/NetworkManager/AccessPoint/17"}},
		[]any{"AccessPoints", variant{"ao", []any{"/org/freedesktop/NetworkManager/AccessPoint/17"}}}, []any{"Ssid", variant{"ay", []any{byte(1), byte(2)}}},
	}, []any{}}}
	big := reply
	big.fields = []field{{5, "u", uint32(7)}, {6, "s", ":1.123"}, {8, "g", "ay"}}
	big.sig, big.body = "s", []any{strings.Repeat("text of a page ", 1100)}
	big.fields[2].value = "s"
	forged := ping
	forged.fields = append([]field{{7, "s", ":1.1"}}, ping.fields...)
	return map[string]message{"call": call, "ping": ping, "reply": reply, "changed": changed, "text16KiB": big, "forged": forged}
}

// BenchmarkPass is the whole way of a message through the package.
func BenchmarkPass(b *testing.B) {
	for name, m := range traffic() {
		header, body := m.bytes()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var p wire.Message
			dst := make([]byte, 0, 4096)
			for b.Loop() {
				if p.Parse(header) != nil || p.CheckBody(body) != nil {
					b.Fatal("refused")
				}
				dst = p.AppendHeader(dst[:0], ":1.12345")
			}
		})
	}
}

// BenchmarkStages are the same, apart.
func BenchmarkStages(b *testing.B) {
	for name, m := range traffic() {
		header, body := m.bytes()
		var p wire.Message
		if p.Parse(header) != nil {
			b.Fatal("refused")
		}
		b.Run("Parse/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p.Parse(header) != nil {
					b.Fatal("refused")
				}
			}
		})
		b.Run("CheckBody/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p.CheckBody(body) != nil {
					b.Fatal("refused")
				}
			}
		})
		b.Run("AppendHeader/"+name, func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 4096)
			for b.Loop() {
				dst = p.AppendHeader(dst[:0], ":1.12345")
			}
		})
		b.Run("Args/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for args := p.Args(body); ; {
					if _, _, ok := args.Next(); !ok {
						break
					}
				}
			}
		})
	}
}

// BenchmarkNaive is the obvious way, for comparison.
func BenchmarkNaive(b *testing.B) {
	for name, m := range traffic() {
		header, body := m.bytes()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ref, err := parseNaive(header)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := readAll(ref.sig, body, ref.big); err != nil {
					b.Fatal(err)
				}
				ref.forwarded(":1.12345")
			}
		})
	}
}

// BenchmarkEncode is a signal of the driver.
func BenchmarkEncode(b *testing.B) {
	b.ReportAllocs()
	e := wire.Encoder{Buf: make([]byte, 0, 1024)}
	for b.Loop() {
		e.Buf = e.Buf[:0]
		e.Begin(wire.Header{
			Type: wire.Signal, Flags: wire.NoReplyExpected, Serial: 1, Path: "/org/freedesktop/DBus", Interface: "org.freedesktop.DBus",
			Member: "NameOwnerChanged", Sender: "org.freedesktop.DBus", Signature: "sss",
		})
		e.String("com.example.Name")
		e.String("")
		e.String(":1.42")
		e.End()
	}
}
