package match_test

import (
	"slices"
	"testing"

	"quartet/services/busd/internal/match"
	"quartet/services/busd/internal/wire"
)

// arg is an argument of a test message: s, o and g have text; u, ay, v and
// (su) are filled with something.
type arg struct{ kind, text string }

// message is a test message that a model can look at.
type message struct {
	kind                                     wire.Type
	sender, iface, member, path, destination string
	senderNames, destinationNames            []string
	args                                     []arg
}

// bus returns what the bus would make of m.
func (m *message) bus() *match.Message {
	var e wire.Encoder
	head := &wire.Message{}
	for _, a := range m.args {
		head.Signature += a.kind
		switch a.kind {
		case "s":
			e.String(a.text)
		case "o":
			e.ObjectPath(a.text)
		case "g":
			e.Signature(a.text)
		case "u":
			e.Uint32(7)
		case "ay":
			mark := e.OpenArray(1)
			e.Byte('x')
			e.CloseArray(mark)
		case "v":
			e.Variant("s")
			e.String("hidden")
		case "(su)":
			e.Struct()
			e.String("hidden")
			e.Uint32(9)
		}
	}
	return &match.Message{
		Type: m.kind, Sender: m.sender, Interface: m.iface, Member: m.member,
		Path: m.path, Destination: m.destination,
		SenderNames:   func() []string { return m.senderNames },
		DestinationIs: func(name string) bool { return slices.Contains(m.destinationNames, name) },
		Args:          func() wire.Args { return head.Args(e.Buf) },
	}
}

// parse parses a rule that has to be valid.
func parse(t testing.TB, text string) match.Rule {
	t.Helper()
	r, err := match.Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return r
}

// matches reports whether a bus with this one rule would find m.
func matches(t testing.TB, rule string, m *message) bool {
	t.Helper()
	var x match.Index[int]
	x.Add(1, parse(t, rule))
	found := false
	x.Find(m.bus(), func(owner int) { found = found || owner == 1 })
	return found
}

// signal returns a broadcast of some service.
func signal(args ...arg) *message {
	return &message{
		kind: wire.Signal, sender: ":1.5", iface: "org.example.Clock", member: "Tick",
		path: "/org/example/clock", senderNames: []string{"org.example.Time", "org.example.Second"},
		args: args,
	}
}
