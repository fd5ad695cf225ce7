package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// seen are what a monitor has seen: sender, member or error, for whom.
func seen(t testing.TB, monitor *client.Conn, n int) (list []string) {
	t.Helper()
	for len(list) < n {
		m := next(t, monitor)
		m.CloseFDs()
		if m.Member == "NameOwnerChanged" && first(m) == monitor.Name { // it may see itself leave
			continue
		}
		what := m.Member
		switch m.Type {
		case wire.MethodReturn:
			what = "reply"
		case wire.ErrorReply:
			what = m.ErrorName
		}
		list = append(list, m.Sender+" "+what+" > "+m.Destination)
	}
	return list
}

// monitor connects a monitor that has seen that it left the bus.
func (b *bed) monitor(rules []string, o ...client.Options) *client.Conn {
	b.t.Helper()
	c := b.dial(o...)
	becomeMonitor(b.t, c, rules...)
	if m := next(b.t, c); m.Member != "NameLost" {
		b.t.Errorf("the monitor got %s", describe(m))
	}
	return c
}

func TestMonitorSeesEverything(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(), b.dial()
	monitor := b.monitor(nil)
	get(from.Send(call(to.Name, "M"), nil))(t)
	m := next(t, to)
	must(t, to.Reply(m, "", nil))
	next(t, from)
	must(t, from.Signal("/a", "com.example.I", "S", "", nil))
	_, err := from.Call(call("com.example.None", "N"), nil)
	refused(t, err, "ServiceUnknown")
	get(from.RequestName("com.example.A", 0))(t)
	get(from.Call(wire.Header{Path: "/", Interface: "org.freedesktop.DBus.Peer", Member: "Ping"}, nil))(t)
	bus := wire.BusName
	same(t, "the monitor", seen(t, monitor, 11),
		from.Name+" M > "+to.Name, to.Name+" reply > "+from.Name, from.Name+" S > ",
		from.Name+" N > com.example.None", bus+" org.freedesktop.DBus.Error.ServiceUnknown > "+from.Name,
		from.Name+" RequestName > "+bus, bus+" NameOwnerChanged > ", bus+" NameAcquired > "+from.Name, bus+" reply > "+from.Name,
		from.Name+" Ping > ", bus+" reply > "+from.Name)
}

// A monitor's rules choose, also by names that stand for the same connection.
func TestMonitorsRulesChoose(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(), b.dial()
	get(to.RequestName("com.example.To", 0))(t)
	get(from.RequestName("com.example.From", 0))(t)
	settle(t, to)
	settle(t, from)
	for rule, want := range map[string]int{
		"destination='com.example.To'":                  2,
		"destination='" + to.Name + "'":                 2,
		"sender='com.example.From',member='M'":          2,
		"eavesdrop='true',member='M'":                   2, // reports #210 and #221 of dbus-broker
		"eavesdrop='false',member='M'":                  2,
		"type='method_return',sender='" + to.Name + "'": 2,
		"type='error'":                                  0,
	} {
		monitor := b.monitor([]string{rule, rule, "member='End'"}) // dbus-broker#260: twice
		for _, name := range []string{to.Name, "com.example.To"} {
			get(from.Send(call(name, "M"), nil))(t)
			must(t, to.Reply(next(t, to), "", nil))
			next(t, from)
		}
		must(t, from.Signal("/a", "com.example.I", "End", "", nil))
		got := seen(t, monitor, 1)
		for !strings.Contains(got[len(got)-1], " End ") {
			got = append(got, seen(t, monitor, 1)...)
		}
		if len(got)-1 != want {
			t.Errorf("%s: %q, want %d", rule, got, want)
		}
		monitor.Close()
	}
}

// A monitor is nobody on the bus any more, and must never speak.
func TestMonitorHasLeftTheBus(t *testing.T) {
	b := start(t, allowAll)
	monitor, other := b.dial(), b.dial()
	get(monitor.RequestName("com.example.A", 0))(t)
	must(t, monitor.AddMatch("type='error'"))
	must(t, other.AddMatch(changes))
	settle(t, monitor)
	becomeMonitor(t, monitor, "member='Nothing'")
	same(t, "the other", ordered(t, settle(t, other)), fmt.Sprintf("NameOwnerChanged %q %q \"\"", monitor.Name, monitor.Name), fmt.Sprintf(`NameOwnerChanged "com.example.A" %q ""`, monitor.Name))
	same(t, "the monitor", ordered(t, []*client.Message{next(t, monitor), next(t, monitor)}), fmt.Sprintf("NameLost %q", monitor.Name), `NameLost "com.example.A"`)
	_, err := other.Owner(monitor.Name)
	refused(t, err, "NameHasNoOwner")
	_, err = other.Call(call(monitor.Name, "M"), nil)
	refused(t, err, "ServiceUnknown")
	if s := b.stats(); s.Now.Rules != 1 || s.Now.Monitors != 1 || s.Now.Names != 0 {
		t.Errorf("%+v", s.Now)
	}
	get(monitor.Send(call(wire.BusName, "GetId"), nil))(t)
	must(t, monitor.AwaitEnd())
	if !strings.Contains(b.log.String(), "monitor") {
		t.Error("nobody is told why")
	}
}

// The unique name of a monitor is gone for good, and so are the rules for it:
// who had them does not hear of BecomeMonitor, and cannot remove them.
func TestRulesForAMonitorsNameAreForgotten(t *testing.T) {
	b := start(t, allowAll)
	monitor, spy := b.dial(), b.dial()
	rule := fmt.Sprintf("eavesdrop='true',sender='%s'", monitor.Name)
	must(t, spy.AddMatch(rule))
	becomeMonitor(t, monitor)
	if got := settle(t, spy); len(got) != 0 {
		t.Errorf("it heard %s", describe(got[0]))
	}
	refused(t, spy.RemoveMatch(rule), "MatchRuleNotFound")
}

// That somebody may not listen in on BecomeMonitor is no concern of the new
// monitor's: the refusal is addressed to it, and monitors are told nothing.
func TestNewMonitorDoesNotSeeItsOwnRefusal(t *testing.T) {
	b := start(t, systemLike)
	spy := b.dial()
	must(t, spy.AddMatch("eavesdrop='true'"))
	monitor := b.monitor(nil)
	must(t, spy.Signal("/a", "com.example.I", "End", "", nil))
	same(t, "the monitor", seen(t, monitor, 1), spy.Name+" End > ")
}

// Who loses a name still has it when that is said, and who gets it not yet.
func TestMonitorOfANameSeesWhoLosesIt(t *testing.T) {
	b := start(t, allowAll)
	first, second := b.dial(), b.dial()
	const name = "com.example.A"
	monitor := b.monitor([]string{"type='signal',destination='" + name + "'", "destination='" + second.Name + "',member='NameLost'", "member='End'"})
	get(first.RequestName(name, 1))(t)
	get(second.RequestName(name, 2))(t)
	second.Close()
	for next(t, first).Member != "NameLost" {
	}
	next(t, first) // has it again
	settle(t, first)
	must(t, first.Signal("/a", "com.example.I", "End", "", nil))
	bus := wire.BusName
	same(t, "the monitor", seen(t, monitor, 4), bus+" NameLost > "+first.Name, bus+" NameLost > "+second.Name, bus+" NameLost > "+second.Name, first.Name+" End > ")
}

// CVE-2023-34969: a message of the bus that cannot be delivered is shown to
// monitors and does no harm.
func TestMonitorAndUndeliverableMessageOfTheBus(t *testing.T) {
	b := start(t, `<policy context="default"><allow user="*"/><allow send_destination="*"/><allow receive_sender="org.freedesktop.DBus" receive_type="method_return"/><allow receive_type="signal"/><deny receive_sender="org.freedesktop.DBus" receive_type="error"/></policy>`)
	monitor, c := b.monitor([]string{"type='error'"}), b.dial()
	h := call("com.example.None", "N")
	get(c.Send(h, nil))(t)
	if m := next(t, monitor); m.Destination != c.Name || !strings.HasSuffix(m.ErrorName, "ServiceUnknown") {
		t.Errorf("the monitor got %s", describe(m))
	}
	nothing(t, c)
}

// Monitors see what the policy stops, and that it was stopped.
func TestMonitorSeesRejectedMessages(t *testing.T) {
	b := start(t, systemLike)
	monitor, from, to := b.monitor([]string{"member='M'", "type='error'"}), b.dial(), b.dial()
	_, err := from.Call(call(to.Name, "M"), nil)
	refused(t, err, "AccessDenied", "Rejected send message, ", `interface="com.example.I" member="M"`, `destination="`+to.Name+`"`, fmt.Sprintf("uid=%d", uid))
	same(t, "the monitor", seen(t, monitor, 2), from.Name+" M > "+to.Name, wire.BusName+" org.freedesktop.DBus.Error.AccessDenied > "+from.Name)
	nothing(t, to)
}

// A descriptor in a reply of the bus does not hide it.
func TestMonitorSeesCredentials(t *testing.T) {
	b := start(t, allowAll)
	for _, takes := range []bool{true, false} {
		c := b.dial(client.Options{FDs: true})
		monitor := b.monitor([]string{"destination='" + c.Name + "',type='method_return'"}, client.Options{FDs: takes})
		get(c.Driver("GetConnectionCredentials", "s", word(c.Name)))(t).CloseFDs()
		get(c.Driver("GetId", "", nil))(t)
		want := 1
		if takes {
			want = 2
		}
		for _, s := range seen(t, monitor, want) {
			if s != wire.BusName+" reply > "+c.Name {
				t.Error(s)
			}
		}
		monitor.Close()
	}
}

// A monitor that reads nothing harms nobody: it has its own account and its
// own end.
func TestStalledMonitor(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_outgoing_bytes">100000</limit>`)
	monitor, from, to := b.dial(), b.dial(), b.dial()
	becomeMonitor(t, monitor)
	body := strings.Repeat("x", 20000)
	for range 100 {
		h := call(to.Name, "M")
		h.Flags, h.Signature = wire.NoReplyExpected, "s"
		get(from.Send(h, word(body)))(t)
		next(t, to)
	}
	if s := b.stats(); s.Now.WaitingBytes > 200000 {
		t.Errorf("%d bytes wait", s.Now.WaitingBytes)
	}
}
