package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// session says what the session bus of every distribution says.
const session = `<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>`

// system says what the system bus says before any service adds to it.
const system = `<policy context="default">
	<allow user="*"/>
	<deny own="*"/><deny send_type="method_call"/>
	<allow send_type="signal"/>
	<allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/>
	<allow receive_type="method_call"/><allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
	<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/>
	<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Introspectable"/>
	<allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Properties"/>
	<deny send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus" send_member="UpdateActivationEnvironment"/>
	<deny send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Debug.Stats"/>
	</policy>
	<policy user="root"><allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus.Monitoring"/></policy>`

// service says what a service of the system bus usually adds.
func service(name string) string {
	return fmt.Sprintf(`<policy user="root"><allow own=%q/></policy>
		<policy context="default"><deny send_destination=%[1]q/>
		<allow send_destination=%[1]q send_interface="org.freedesktop.DBus.Introspectable"/>
		<allow send_destination=%[1]q send_interface="org.freedesktop.DBus.Properties" send_member="Get"/>
		<allow send_destination=%[1]q send_interface="%[2]s.Manager"/></policy>`, name, name)
}

func TestSessionBusAsksNothing(t *testing.T) {
	c := compile(t, session).For(alice)
	if !c.SendsAll() || !c.ReceivesAll() || !c.CanOwn("a.b").Allow {
		t.Error("the session bus refuses something")
	}
}

// Each of these makes the session bus refuse some message.
func TestOneRuleThatRefusesEndsTheShortCut(t *testing.T) {
	for _, element := range []string{
		`<deny send_destination="a.b"/>`, `<deny send_destination_prefix="a"/>`, `<deny send_interface="i.F"/>`,
		`<deny send_type="method_return"/>`, `<deny send_path="/p" max_fds="2"/>`, `<deny send_broadcast="true"/>`,
	} {
		if c := compile(t, session+`<policy context="mandatory">`+element+`</policy>`).For(alice); c.SendsAll() || !c.ReceivesAll() {
			t.Errorf("%s: sends all %t, receives all %t", element, c.SendsAll(), c.ReceivesAll())
		}
	}
	for _, element := range []string{`<deny receive_sender="a.b"/>`, `<deny receive_type="signal"/>`, `<deny eavesdrop="true"/>`} {
		if c := compile(t, session+`<policy user="alice">`+element+`</policy>`).For(alice); !c.SendsAll() || c.ReceivesAll() {
			t.Errorf("%s: sends all %t, receives all %t", element, c.SendsAll(), c.ReceivesAll())
		}
	}
	for _, element := range []string{
		`<allow send_type="*"/><allow receive_type="*"/>`, `<allow send_type="signal" eavesdrop="true"/><allow receive_type="signal" eavesdrop="true"/>`,
		`<allow send_interface="i.F" eavesdrop="true"/><allow receive_path="/" eavesdrop="true"/>`,
	} {
		if c := rules(t, element); c.SendsAll() || c.ReceivesAll() {
			t.Errorf("%s: sends all %t, receives all %t", element, c.SendsAll(), c.ReceivesAll())
		}
	}
}

func TestEarlierDenyDoesNotEndTheShortCut(t *testing.T) {
	c := compile(t, `<policy context="default"><deny send_interface="i.F"/><deny receive_sender="a.b"/></policy>`+session).For(alice)
	if !c.SendsAll() || !c.ReceivesAll() {
		t.Error("a rule that is always overridden counts")
	}
}

func TestSessionBusPassesUnrequestedReplies(t *testing.T) {
	c := compile(t, session).For(alice)
	sends(t, c, reply(false), true, ":1.9")
	m := reply(false)
	if !c.CanReceive(&m, nil, true).Allow {
		t.Error("does not receive an unrequested reply")
	}
}

// CVE-2008-4311: the system bus once let everybody call every service.
func TestSystemBusRefusesCallsByDefault(t *testing.T) {
	c := compile(t, system).For(alice)
	sends(t, c, call("a.b", "i.F", "M"), false, ":1.1", "a.b")
	sends(t, c, call("a.b", "", "M"), false, ":1.1", "a.b")
	sends(t, c, call(":1.1", "i.F", "M"), false, ":1.1")
	if c.CanOwn("a.b").Allow {
		t.Error("owns a name")
	}
}

func TestSystemBusPassesSignalsAndExpectedReplies(t *testing.T) {
	c := compile(t, system).For(alice)
	unicast := signal("i.F", "S")
	unicast.Destination = ":1.1"
	sends(t, c, signal("i.F", "S"), true)
	sends(t, c, unicast, true, ":1.1")
	sends(t, c, reply(true), true, ":1.9")
	sends(t, c, reply(false), false, ":1.9")
	receives(t, c, call("a.b", "i.F", "M"), true, ":1.1")
	receives(t, c, reply(false), false, ":1.1")
	m := call("a.b", "i.F", "M")
	if c.CanReceive(&m, nil, true).Allow {
		t.Error("eavesdrops")
	}
}

func TestSystemBusLetsAllTalkToTheDriver(t *testing.T) {
	set := compile(t, system)
	c := set.For(alice)
	sends(t, c, call(wire.BusName, wire.BusName, "Hello"), true, wire.BusName)
	sends(t, c, call(wire.BusName, wire.BusName, "UpdateActivationEnvironment"), false, wire.BusName)
	sends(t, c, call(wire.BusName, wire.BusName+".Debug.Stats", "GetStats"), false, wire.BusName)
	sends(t, c, call(wire.BusName, wire.BusName+".Monitoring", "BecomeMonitor"), false, wire.BusName)
	sends(t, set.For(policy.Identity{Known: true}), call(wire.BusName, wire.BusName+".Monitoring", "BecomeMonitor"), true, wire.BusName)
	if !set.MayConnect(alice, 0).Allow {
		t.Error("alice may not connect")
	}
}

func TestServiceOpensItsInterfacesOnly(t *testing.T) {
	set := compile(t, system+service("org.freedesktop.login1"))
	c := set.For(alice)
	to := []string{":1.2", "org.freedesktop.login1"}
	sends(t, c, call(to[1], to[1]+".Manager", "ListSessions"), true, to...)
	sends(t, c, call(to[1], to[1]+".Seat", "Terminate"), false, to...)
	sends(t, c, call(to[1], "org.freedesktop.DBus.Properties", "Get"), true, to...)
	sends(t, c, call(to[1], "org.freedesktop.DBus.Properties", "Set"), false, to...)
	if c.CanOwn(to[1]).Allow || !set.For(policy.Identity{Known: true}).CanOwn(to[1]).Allow {
		t.Error("owning the service's name")
	}
}

// crowded is a system bus with as many rules as a full desktop has.
func crowded(t testing.TB) *policy.Client {
	t.Helper()
	var b strings.Builder
	b.WriteString(system)
	for i := range 50 {
		b.WriteString(service(fmt.Sprintf("org.example.Service%d", i)))
	}
	return compile(t, b.String()).For(alice)
}

func TestAskingAllocatesNothing(t *testing.T) {
	c := crowded(t)
	to := policy.Names{":1.7", "org.example.Service20"}
	allowed := call(to[1], to[1]+".Manager", "M")
	refused := call(to[1], "other.Interface", "M")
	broadcast := signal("i.F", "S")
	n := testing.AllocsPerRun(100, func() {
		if !c.CanSend(&allowed, to).Allow || c.CanSend(&refused, to).Allow || !c.CanSend(&broadcast, to[:1]).Allow ||
			!c.CanReceive(&allowed, to, false).Allow || c.CanOwn("a.b").Allow {
			t.Fatal("unexpected verdict")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSend(b *testing.B) {
	c := crowded(b)
	to := policy.Names{":1.7", "org.example.Service20"}
	for name, m := range map[string]policy.Message{
		"call": call(to[1], to[1]+".Manager", "M"), "refused": call(to[1], "other.Interface", "M"),
		"broadcast": signal("i.F", "S"), "reply": reply(true),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.CanSend(&m, to)
			}
		})
	}
}

func BenchmarkFor(b *testing.B) {
	set := compile(b, system+strings.Repeat(service("a.b"), 50))
	b.ReportAllocs()
	for b.Loop() {
		set.For(alice)
	}
}
