package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// Rules are counted: what was added twice is there until it is removed twice.
func TestRulesAreAMultiset(t *testing.T) {
	b := start(t, allowAll)
	c, from := b.dial(), b.dial()
	must(t, c.AddMatch("member=S"))
	must(t, c.AddMatch("member='S'"))
	must(t, c.RemoveMatch("member='S',"))
	must(t, from.Signal("/a", "com.example.I", "S", "", nil))
	settle(t, from)
	if m := next(t, c); m.Member != "S" {
		t.Errorf("got %s", describe(m))
	}
	must(t, c.RemoveMatch("member='S'"))
	must(t, from.Signal("/a", "com.example.I", "S", "", nil))
	settle(t, from)
	nothing(t, c)
	refused(t, c.RemoveMatch("member='S'"), "MatchRuleNotFound")
}

// Report 11 (dbus-broker#309) and 12 (NEWS 37), on the bus.
func TestRulesOnArgumentsAndPaths(t *testing.T) {
	b := start(t, allowAll)
	from := b.dial()
	get(from.RequestName("com.example.Sender", 0))(t)
	for rule, matches := range map[string]bool{
		"path_namespace='/'":                 true,
		"path_namespace='/a'":                true,
		"path_namespace='/a/b/c'":            false,
		"arg0='x'":                           false,
		"arg2='third'":                       true,
		"arg2='x'":                           false,
		"arg3path='/dir/'":                   true,
		"arg2namespace='third'":              false, // no such key
		"sender='com.example.Sender'":        true,
		"sender='" + from.Name + "'":         true,
		"sender='com.example.Other'":         false,
		"sender='org.freedesktop.DBus'":      false,
		"destination='" + from.Name + "'":    false,
		"type='signal',path='/a/b'":          true,
		"type='method_call',path='/a/b'":     false,
		"interface='com.example.I',arg5='x'": false,
	} {
		c := b.dial()
		err := c.AddMatch(rule)
		if strings.HasPrefix(rule, "arg2namespace") {
			refused(t, err, "MatchRuleInvalid")
			continue
		}
		must(t, err)
		must(t, from.Signal("/a/b", "com.example.I", "S", "uvso", func(e *wire.Encoder) {
			e.Uint32(1)
			e.Variant("s")
			e.String("x")
			e.String("third")
			e.ObjectPath("/dir/file")
		}))
		settle(t, from)
		got := false
		for _, m := range settle(t, c) {
			got = got || m.Member == "S"
		}
		if got != matches {
			t.Errorf("%s: %t", rule, got)
		}
		c.Close()
	}
}

// A rule for a well-known sender follows the name to its owner.
func TestRuleOfASenderFollowsTheName(t *testing.T) {
	b := start(t, allowAll)
	c, one, two := b.dial(), b.dial(), b.dial()
	must(t, c.AddMatch("sender='com.example.A'"))
	for i, owner := range []*client.Conn{nil, one, two} {
		if owner != nil {
			get(owner.RequestName("com.example.A", 1|2))(t)
		}
		for _, from := range []*client.Conn{one, two} {
			must(t, from.Signal("/a", "com.example.I", "S", "u", func(e *wire.Encoder) { e.Uint32(uint32(i)) }))
			settle(t, from)
		}
		got := settle(t, c)
		switch {
		case owner == nil && len(got) > 0, owner != nil && (len(got) != 1 || got[0].Sender != owner.Name):
			t.Errorf("step %d: %d signals", i, len(got))
		}
	}
}

// Report 29 (Tmds.DBus#325): who leaks rules is told which limit and who.
func TestMaxMatchRulesPerConnection(t *testing.T) {
	c := start(t, allowAll+`<limit name="max_match_rules_per_connection">2</limit>`).dial()
	must(t, c.AddMatch("member='A'"))
	must(t, c.AddMatch("member='A'"))
	refused(t, c.AddMatch("member='A'"), "LimitsExceeded", c.Name, "max_match_rules_per_connection=2")
	must(t, c.RemoveMatch("member='A'"))
	must(t, c.AddMatch("member='B'"))
}

func TestEavesdroppersHearWhatIsForOthers(t *testing.T) {
	b := start(t, allowAll)
	spy, deaf, from, to := b.dial(), b.dial(), b.dial(), b.dial()
	get(to.RequestName("com.example.To", 0))(t)
	settle(t, to)
	must(t, spy.AddMatch(fmt.Sprintf("eavesdrop='true',sender='%s'", from.Name)))
	must(t, spy.AddMatch("eavesdrop='true',destination='com.example.To'"))
	must(t, deaf.AddMatch("destination='com.example.To'"))
	must(t, deaf.AddMatch(""))
	settle(t, deaf)
	get(from.Send(call(to.Name, "M"), nil))(t)
	settle(t, from) // a call of the bus, which is heard as well
	m := next(t, to)
	var heard []string
	for _, m := range settle(t, spy) {
		heard = append(heard, m.Member)
	}
	same(t, "the eavesdropper", heard, "M", "GetId")
	nothing(t, deaf)
	must(t, to.Reply(m, "", nil))
	next(t, from)
	nothing(t, to)
	nothing(t, from)
	settle(t, spy)
	must(t, spy.RemoveMatch("destination='com.example.To',eavesdrop='true'"))
	must(t, spy.RemoveMatch(fmt.Sprintf("eavesdrop='true',sender='%s'", from.Name)))
	spy.Waiting()
	get(from.Send(call(to.Name, "N"), nil))(t)
	settle(t, from)
	nothing(t, spy)
	must(t, to.Reply(next(t, to), "", nil))
	next(t, from)
}

func TestEavesdroppingNeedsPermission(t *testing.T) {
	b := start(t, systemLike+`<policy context="default"><allow send_interface="com.example.I"/></policy>`)
	spy, from, to := b.dial(), b.dial(), b.dial()
	must(t, spy.AddMatch("eavesdrop='true'"))
	settle(t, spy)
	get(from.Send(call(to.Name, "M"), nil))(t)
	settle(t, from)
	must(t, to.Reply(next(t, to), "", nil))
	next(t, from)
	for _, m := range settle(t, spy) {
		if m.Destination != "" && m.Destination != spy.Name {
			t.Errorf("overheard %s", describe(m))
		}
	}
}

// No reply is one that an eavesdropper has asked for.
func TestEavesdroppersNeedPermissionForUnrequestedReplies(t *testing.T) {
	b := start(t, allowAll+`<policy context="default"><deny send_requested_reply="false" send_type="method_return"/></policy>`)
	spy, from, to := b.dial(), b.dial(), b.dial()
	must(t, spy.AddMatch("eavesdrop='true',type='method_return'"))
	get(from.Send(call(to.Name, "M"), nil))(t)
	must(t, to.Reply(next(t, to), "", nil))
	if m := next(t, from); m.Type != wire.MethodReturn {
		t.Errorf("the caller got %s", describe(m))
	}
	if got := settle(t, spy); len(got) != 0 {
		t.Errorf("overheard %s", describe(got[0]))
	}
}

// And they go with who has them.
func TestAMessageFindsItsRuleAmongThousands(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_match_rules_per_connection">100000</limit>`)
	c, from := b.dial(), b.dial()
	for i := range 3000 {
		h := wire.Header{Type: wire.MethodCall, Flags: wire.NoReplyExpected, Path: wire.BusPath, Interface: wire.BusName, Member: "AddMatch", Destination: wire.BusName, Signature: "s"}
		get(c.Send(h, word(fmt.Sprintf("type='signal',interface='com.example.I',path='/p%d',arg%d='%d'", i, i%64, i))))(t)
	}
	settle(t, c)
	if n := b.stats().Now.Rules; n != 3000 {
		t.Errorf("%d rules, want 3000", n)
	}
	must(t, from.Signal("/p64", "com.example.I", "S", "s", word("64")))
	if m := next(t, c); m.Member != "S" {
		t.Errorf("got %s", describe(m))
	}
	must(t, c.Close())
	for b.stats().Now.Rules > 0 {
		settle(t, from)
	}
}
