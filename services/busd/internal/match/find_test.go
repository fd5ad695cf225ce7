package match_test

import (
	"testing"

	"quartet/services/busd/internal/wire"
)

// TestMatching has a case for each sentence of the specification, "Match
// Rules", and for what it leaves to dbus-daemon.
func TestMatching(t *testing.T) {
	withPath := func(path string) *message { m := signal(); m.path = path; return m }
	unicast := signal(arg{"s", "x"})
	unicast.destination, unicast.destinationNames = "org.example.Ear", []string{":1.9", "org.example.Ear"}
	reply := &message{kind: wire.MethodReturn, sender: ":1.5"}
	fromBus := &message{
		kind: wire.Signal, sender: "org.freedesktop.DBus", path: "/org/freedesktop/DBus",
		iface: "org.freedesktop.DBus", member: "NameOwnerChanged",
	}
	mixed := signal(arg{"u", ""}, arg{"(su)", ""}, arg{"s", "two"}, arg{"v", ""}, arg{"ay", ""}, arg{"o", "/five"}, arg{"g", "s"})

	for _, c := range []struct {
		name, rule string
		m          *message
		want       bool
	}{
		{"type", `type='signal'`, signal(), true},
		{"other type", `type='method_call'`, signal(), false},
		{"interface", `interface='org.example.Clock'`, signal(), true},
		{"other interface", `interface='org.example.Cloc'`, signal(), false},
		{"interface of a reply", `interface='org.example.Clock'`, reply, false},
		{"member", `member='Tick'`, signal(), true},
		{"other member", `member='Tock'`, signal(), false},
		{"all of them and one wrong", `interface='org.example.Clock',member='Tock'`, signal(), false},

		{"sender by unique name", `sender=':1.5'`, signal(), true},
		{"sender by another unique name", `sender=':1.55'`, signal(), false},
		{"sender by a name it owns", `sender='org.example.Second'`, signal(), true},
		{"sender by a name it does not own", `sender='org.example.Third'`, signal(), false},
		{"sender is the bus", `sender='org.freedesktop.DBus'`, fromBus, true},
		{"sender is not the bus", `sender='org.freedesktop.DBus'`, signal(), false},
		{"well-known sender of a message of the bus", `sender='org.example.Time'`, fromBus, false},

		{"path", `path='/org/example/clock'`, signal(), true},
		{"path below", `path='/org/example'`, signal(), false},
		{"path of a reply", `path='/'`, reply, false},
		{"path_namespace equal", `path_namespace='/org/example/clock'`, signal(), true},
		{"path_namespace above", `path_namespace='/org/example'`, signal(), true},
		{"path_namespace below", `path_namespace='/org/example/clock/hand'`, signal(), false},
		{"path_namespace ends within an element", `path_namespace='/org/example/clo'`, signal(), false},
		// dbus-broker #309, and dbus before 1.6.18: "/" matched nothing.
		{"path_namespace of everything", `path_namespace='/'`, signal(), true},
		{"path_namespace of everything at the root", `path_namespace='/'`, withPath("/"), true},
		{"path_namespace at the root", `path_namespace='/org'`, withPath("/"), false},
		{"path_namespace of a reply", `path_namespace='/'`, reply, false},

		{"unicast without eavesdrop", ``, unicast, false},
		{"unicast with eavesdrop", `eavesdrop='true'`, unicast, true},
		{"broadcast with eavesdrop", `eavesdrop='true'`, signal(), true},
		{"destination without eavesdrop", `destination='org.example.Ear'`, unicast, false},
		{"destination with eavesdrop", `destination='org.example.Ear',eavesdrop='true'`, unicast, true},
		{"destination by unique name", `destination=':1.9',eavesdrop='true'`, unicast, true},
		{"other destination", `destination='org.example.Eye',eavesdrop='true'`, unicast, false},
		{"destination of a broadcast", `destination='org.example.Ear',eavesdrop='true'`, signal(), false},

		{"arg0", `arg0='x'`, signal(arg{"s", "x"}), true},
		{"arg0 empty", `arg0=''`, signal(arg{"s", ""}), true},
		{"arg0 other", `arg0='x'`, signal(arg{"s", "y"}), false},
		{"arg0 of an empty body", `arg0=''`, signal(), false},
		{"arg0 is a path", `arg0='/x'`, signal(arg{"o", "/x"}), false},
		{"arg0 is a signature", `arg0='s'`, signal(arg{"g", "s"}), false},
		{"arg0 is a number", `arg0=''`, signal(arg{"u", ""}), false},
		{"arg0 within a variant", `arg0='hidden'`, signal(arg{"v", ""}), false},
		// dbus-broker before 37: no argument but the first was ever matched.
		{"argument behind others", `arg2='two'`, mixed, true},
		{"argument behind others, wrong", `arg2='three'`, mixed, false},
		{"two arguments", `arg2='two',arg5path='/five'`, mixed, true},
		{"two arguments, one wrong", `arg2='two',arg5path='/six'`, mixed, false},
		{"argument behind the last", `arg7=''`, mixed, false},

		{"arg0path equal", `arg0path='/aa/bb'`, signal(arg{"s", "/aa/bb"}), true},
		{"arg0path of a path", `arg0path='/aa/bb'`, signal(arg{"o", "/aa/bb"}), true},
		{"arg0path of a number", `arg0path='/aa/bb'`, signal(arg{"u", ""}), false},
		{"arg0path of the specification, /", `arg0path='/aa/bb/'`, signal(arg{"s", "/"}), true},
		{"arg0path of the specification, /aa/", `arg0path='/aa/bb/'`, signal(arg{"s", "/aa/"}), true},
		{"arg0path of the specification, /aa/bb/", `arg0path='/aa/bb/'`, signal(arg{"s", "/aa/bb/"}), true},
		{"arg0path of the specification, /aa/bb/cc/", `arg0path='/aa/bb/'`, signal(arg{"s", "/aa/bb/cc/"}), true},
		{"arg0path of the specification, /aa/bb/cc", `arg0path='/aa/bb/'`, signal(arg{"s", "/aa/bb/cc"}), true},
		{"arg0path of the specification, /aa/b", `arg0path='/aa/bb/'`, signal(arg{"s", "/aa/b"}), false},
		{"arg0path of the specification, /aa", `arg0path='/aa/bb/'`, signal(arg{"s", "/aa"}), false},
		{"arg0path of the specification, /aa/bb", `arg0path='/aa/bb/'`, signal(arg{"s", "/aa/bb"}), false},
		{"arg0path without a slash is no directory", `arg0path='/aa/bb'`, signal(arg{"s", "/aa/bb/cc"}), false},
		{"arg0path below a directory", `arg0path='/aa/bb'`, signal(arg{"s", "/aa/"}), true},
		{"arg0path empty", `arg0path=''`, signal(arg{"s", ""}), true},
		{"arg0path empty against a directory", `arg0path=''`, signal(arg{"s", "/"}), false},
		{"arg0path against nothing", `arg0path='/'`, signal(arg{"s", ""}), false},
		{"arg5path", `arg5path='/'`, mixed, true},

		{"arg0namespace equal", `arg0namespace='com.example'`, signal(arg{"s", "com.example"}), true},
		{"arg0namespace above", `arg0namespace='com'`, signal(arg{"s", "com.example.backend"}), true},
		{"arg0namespace ends within an element", `arg0namespace='com.exam'`, signal(arg{"s", "com.example"}), false},
		{"arg0namespace below", `arg0namespace='com.example.backend'`, signal(arg{"s", "com.example"}), false},
		{"arg0namespace of a path", `arg0namespace='com'`, signal(arg{"o", "/com"}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := matches(t, c.rule, c.m); got != c.want {
				t.Errorf("%q matches: %v, want %v", c.rule, got, c.want)
			}
		})
	}
}

func TestOnlyTheFirst64ArgumentsAreLookedAt(t *testing.T) {
	m := signal()
	for range 70 {
		m.args = append(m.args, arg{"s", "x"})
	}
	if !matches(t, "arg63='x'", m) {
		t.Error("arg63 is not matched")
	}
}

func TestArgumentsThatNoRuleWantsAreNotRead(t *testing.T) {
	x := newIndex(t, "interface='org.example.Clock'", "member='Tock'")
	m := signal(arg{"s", "x"}).bus()
	m.Args = func() wire.Args { t.Error("arguments were read"); return wire.Args{} }
	m.SenderNames = func() []string { t.Error("the sender's names were asked for"); return nil }
	if got := find(x, m); len(got) != 1 {
		t.Errorf("found %v, want one", got)
	}
}

func TestWithoutFunctionsAMessageIsBare(t *testing.T) {
	m := signal().bus()
	m.Args, m.SenderNames, m.DestinationIs = nil, nil, nil
	x := newIndex(t, "arg0='x'", "sender='org.example.Time'", "destination='a.b',eavesdrop=true", "eavesdrop=true")
	if got := find(x, m); len(got) != 1 || got[0] != 3 {
		t.Errorf("a broadcast finds %v, want the last rule", got)
	}
	m.Destination = "a.b"
	if got := find(x, m); len(got) != 2 {
		t.Errorf("a message to a.b finds %v, want the last two rules", got)
	}
}
