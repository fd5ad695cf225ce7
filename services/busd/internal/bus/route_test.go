package bus_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

func call(to, member string) wire.Header {
	return wire.Header{Type: wire.MethodCall, Path: "/a", Interface: "com.example.I", Member: member, Destination: to}
}

func word(s string) client.Write { return func(e *wire.Encoder) { e.String(s) } }

// Report 14 (dbus2/busd#242): what has a destination goes there, rules or not.
func TestUnicastNeedsNoRule(t *testing.T) {
	b := start(t, allowAll)
	from, to, third := b.dial(), b.dial(), b.dial()
	must(t, third.AddMatch("type='signal'"))
	get(to.RequestName("com.example.A", 0))(t)
	settle(t, to)
	settle(t, third)
	for _, name := range []string{to.Name, "com.example.A"} {
		h := call(name, "S")
		h.Type = wire.Signal
		get(from.Send(h, nil))(t)
		settle(t, from)
		if m := next(t, to); m.Member != "S" || m.Sender != from.Name || m.Destination != name {
			t.Errorf("got %s for %s", describe(m), m.Destination)
		}
	}
	nothing(t, third)
}

// The sender's name is what the bus says, whatever the sender says.
func TestForgedSenderIsReplaced(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(), b.dial()
	for _, forged := range []string{wire.BusName, to.Name, "com.example.A"} {
		h := call(to.Name, "M")
		h.Sender, h.Signature = forged, "s"
		get(from.Send(h, word("x")))(t)
		m := next(t, to)
		if d := m.Values(); m.Sender != from.Name || d.String() != "x" {
			t.Errorf("got %s", describe(m))
		}
		must(t, to.Reply(m, "", nil))
		next(t, from)
	}
}

// Fields that this bus does not know are not passed on (HeaderFiltering).
func TestUnknownFieldsAreNotForwarded(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(), b.dial()
	h := call(to.Name, "M")
	h.Serial, h.Flags = 77, wire.NoReplyExpected
	data := client.Marshal(h, nil)
	for len(data)%8 != 0 {
		data = append(data, 0)
	}
	begin := len(data)
	data = append(data, 200, 1, 'y', 0, 42) // a field of code 200 that is a byte
	binary.LittleEndian.PutUint32(data[12:], uint32(begin-wire.FixedHeader+5))
	for len(data)%8 != 0 {
		data = append(data, 0)
	}
	must(t, from.SendRaw(data))
	m := next(t, to)
	if m.Member != "M" || m.HeaderLen >= len(data)+24 {
		t.Errorf("got %s with a header of %d bytes", describe(m), m.HeaderLen)
	}
	settle(t, from)
}

// The verdicts on what cannot be delivered, which are dbus-daemon's.
func TestACallToNobodyIsRefused(t *testing.T) {
	b := start(t, allowAll)
	c := b.dial()
	for _, name := range []string{"com.example.Nobody", ":1.4711", "a.%n%s.b"} {
		if !wire.ValidBusName(name) {
			continue
		}
		_, err := c.Call(call(name, "M"), nil)
		refused(t, err, "ServiceUnknown", "The name "+name+" was not provided by any .service files")
		h := call(name, "M")
		h.Flags = wire.NoAutoStart
		_, err = c.Call(h, nil)
		refused(t, err, "NameHasNoOwner", name)
	}
}

// CVE-2013-2168: what is in a message is never a format.
func TestFormatsInNamesAreText(t *testing.T) {
	b := start(t, allowAll)
	c := b.dial()
	for _, evil := range []string{"%n%s%x", "%!d(string=", "%[99]*d"} {
		_, err := c.Driver("GetNameOwner", "s", word(evil))
		refused(t, err, "NameHasNoOwner", evil)
		_, err = c.Driver("AddMatch", "s", word(evil))
		refused(t, err, "MatchRuleInvalid", evil[:4])
		_, err = c.RequestName(evil, 0)
		refused(t, err, "InvalidArgs")
		if strings.Contains(err.Error(), "MISSING") || strings.Contains(err.Error(), "EXTRA") {
			t.Error(err)
		}
	}
}

// A message of a type that does not exist yet is refused where it is for
// somebody.
func TestMessagesOfUnknownTypesAreRefused(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(), b.dial()
	for _, destination := range []string{to.Name, wire.BusName, "com.example.Nobody"} {
		serial := from.NextSerial()
		h := call(destination, "M")
		h.Type, h.Serial = 9, serial
		get(from.Send(h, nil))(t)
		m := next(t, from)
		want, text := "AccessDenied", "unknown type"
		if destination == "com.example.Nobody" {
			want, text = "ServiceUnknown", destination
		}
		if m.ErrorName != driverError+want || m.ReplySerial != serial || !strings.Contains(describe(m), text) {
			t.Errorf("%s: got %s", destination, describe(m))
		}
	}
	h := call("", "M")
	h.Type = 9
	get(from.Send(h, nil))(t)
	nothing(t, from)
	nothing(t, to)
}

// dbus#301: a call without a destination is answered by the bus, as by any
// peer, and by nobody else.
func TestCallsWithoutDestination(t *testing.T) {
	b := start(t, allowAll)
	c, other := b.dial(), b.dial()
	must(t, other.AddMatch("eavesdrop='true'"))
	ping := wire.Header{Path: "/any", Interface: "org.freedesktop.DBus.Peer", Member: "Ping"}
	if m := get(c.Call(ping, nil))(t); m.Signature != "" {
		t.Errorf("Ping is answered by %s", describe(m))
	}
	ping.Member = "GetMachineId"
	d := get(c.Call(ping, nil))(t).Values()
	if id := d.String(); len(id) != 32 {
		t.Errorf("machine id %q", id)
	}
	_, err := c.Call(call("", "M"), nil)
	refused(t, err, "UnknownMethod", "M")
	for _, h := range []wire.Header{{Type: wire.MethodReturn, ReplySerial: 5}, {Type: wire.ErrorReply, ReplySerial: 5, ErrorName: "a.b"}} {
		get(c.Send(h, nil))(t)
	}
	nothing(t, c)
}

func TestBroadcastReachesWhoAskedForIt(t *testing.T) {
	b := start(t, allowAll)
	from, one, twice, none := b.dial(), b.dial(), b.dial(), b.dial()
	must(t, one.AddMatch("type='signal',interface='com.example.I'"))
	for _, rule := range []string{"member='S'", "type='signal'", "", "member='S'"} {
		must(t, twice.AddMatch(rule))
	}
	must(t, none.AddMatch("member='T'"))
	must(t, from.AddMatch("member='S'")) // even the sender itself
	must(t, from.Signal("/a", "com.example.I", "S", "s", word("x")))
	settle(t, from)
	for _, c := range []*client.Conn{one, twice} {
		got := 0
		for _, m := range settle(t, c) {
			if m.Member == "S" && m.Sender == from.Name && m.Destination == "" {
				got++
			}
		}
		if got != 1 {
			t.Errorf("%d times", got)
		}
	}
	nothing(t, none)
}

func TestSenderHearsItsOwnBroadcast(t *testing.T) {
	c := start(t, allowAll).dial()
	must(t, c.AddMatch("member='S'"))
	must(t, c.Signal("/a", "com.example.I", "S", "", nil))
	if m := next(t, c); m.Member != "S" {
		t.Errorf("got %s", describe(m))
	}
}

func TestAPeerMayCallItself(t *testing.T) {
	c := start(t, allowAll).dial()
	serial := get(c.Send(call(c.Name, "M"), nil))(t)
	m := next(t, c)
	must(t, c.Reply(m, "s", word("x")))
	if m := next(t, c); m.ReplySerial != serial || m.Type != wire.MethodReturn {
		t.Errorf("got %s", describe(m))
	}
	get(c.Send(call(c.Name, "M"), nil))(t) // is never answered
	next(t, c)
}

// Every message of a pair comes in order, whatever else is on the way.
func TestOrderPerPair(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_replies_per_connection">100000</limit>`)
	const senders, each = 6, 1500
	to := b.dial()
	must(t, to.AddMatch("interface='com.example.I'"))
	ended := make(chan error, senders)
	for i := range senders {
		c := b.dial()
		go func() {
			var err error
			for n := 0; n < each && err == nil; n++ {
				body := strings.Repeat("x", n%7*600)
				write := func(e *wire.Encoder) { e.Uint32(uint32(n)); e.String(body) }
				h := call("", "S")
				h.Type, h.Signature = wire.Signal, "us"
				if n%3 == i%3 {
					h.Type, h.Destination, h.Flags = wire.MethodCall, to.Name, wire.NoReplyExpected
				}
				_, err = c.Send(h, write)
			}
			ended <- err
		}()
	}
	seen := map[string]uint32{}
	for range senders * each {
		m := next(t, to)
		d := m.Values()
		if n := d.Uint32(); n != seen[m.Sender] {
			t.Fatalf("%s: %d came when %d was due", m.Sender, n, seen[m.Sender])
		}
		seen[m.Sender]++
	}
	for range senders {
		must(t, <-ended)
	}
}

// All who get broadcasts of several senders get them in the same order.
func TestBroadcastsHaveOneOrder(t *testing.T) {
	b := start(t, allowAll)
	receivers := []*client.Conn{b.dial(), b.dial(), b.dial()}
	for _, c := range receivers {
		must(t, c.AddMatch("interface='com.example.I'"))
	}
	const senders, each = 4, 300
	ended := make(chan error, senders)
	for range senders {
		c := b.dial()
		go func() {
			var err error
			for n := 0; n < each && err == nil; n++ {
				err = c.Signal("/a", "com.example.I", "S", "u", func(e *wire.Encoder) { e.Uint32(uint32(n)) })
			}
			ended <- err
		}()
	}
	for i := range senders * each {
		want := describe(next(t, receivers[0]))
		for _, c := range receivers[1:] {
			if got := describe(next(t, c)); got != want {
				t.Fatalf("message %d is %s for one and %s for another", i, want, got)
			}
		}
	}
	for range senders {
		must(t, <-ended)
	}
}

// What a peer had sent before it hung up is delivered, though it reads no
// answer any more.
func TestLastWordsAreDelivered(t *testing.T) {
	b := start(t, allowAll)
	to := b.dial()
	must(t, to.AddMatch("interface='com.example.I'"))
	const senders, each = 10, 200
	resume := b.pause()
	for range senders {
		c := get(client.Connect(b.address, patience))(t)
		stream := append([]byte("\x00AUTH EXTERNAL "+hexUID(uid)+"\r\nBEGIN\r\n"), client.Marshal(hello(1), nil)...)
		for i := range uint32(each) {
			stream = append(stream, client.Marshal(wire.Header{Type: wire.MethodCall, Serial: 2*i + 9, Path: "/", Member: "GetId", Destination: wire.BusName}, nil)...)
			h := call("", "S")
			h.Type, h.Serial = wire.Signal, 2*i+10
			stream = append(stream, client.Marshal(h, nil)...)
		}
		must(t, c.SendRaw(stream))
		c.Close()
	}
	resume()
	for i := range senders * each {
		m, err := to.Next()
		if err != nil {
			t.Fatalf("%d of %d signals came: %v", i, senders*each, err)
		}
		if m.Member != "S" {
			t.Fatal(describe(m))
		}
	}
}

func TestInvalidMessageEndsItsSenderAlone(t *testing.T) {
	for _, reply := range []bool{false, true} {
		b := start(t, allowAll, func(o *busOptions) { o.ReplyInvalid = reply })
		c, other := b.dial(), b.dial()
		h := call(other.Name, "M")
		h.Serial, h.Signature = 5, "b"
		must(t, c.SendRaw(client.Marshal(h, func(e *wire.Encoder) { e.Uint32(2) })))
		must(t, c.AwaitEnd())
		// Report 7 (dbus-broker#192): who wants that is told why.
		told := ""
		for _, m := range c.Waiting() {
			told += describe(m)
		}
		if reply != strings.Contains(told, "InconsistentMessage") || !strings.Contains(b.log.String(), c.Name) {
			t.Errorf("told %q; log %s", told, b.log)
		}
		nothing(t, other)
	}
}

// CVE-2009-1189, CVE-2010-4352: depth is bounded. 2022-42010 and -42011 are
// bodies that do not fit their signature.
func TestNestedVariants(t *testing.T) {
	b := start(t, allowAll)
	to := b.dial()
	for _, depth := range []int{1, 63, 64, 65, 200, 20000} {
		c := b.dial()
		h := call(to.Name, "M")
		h.Signature, h.Flags = "v", wire.NoReplyExpected
		get(c.Send(h, func(e *wire.Encoder) {
			for range depth - 1 {
				e.Variant("v")
			}
			e.Variant("y")
			e.Byte(1)
		}))(t)
		if depth <= 64 {
			if m := next(t, to); m.Sender != c.Name {
				t.Errorf("depth %d: got %s", depth, describe(m))
			}
			continue
		}
		must(t, c.AwaitEnd())
	}
	nothing(t, to)
}

func TestLocalPathAndInterfaceAreForbidden(t *testing.T) {
	b := start(t, allowAll)
	for _, h := range []wire.Header{
		{Type: wire.Signal, Path: "/org/freedesktop/DBus/Local", Interface: "a.b", Member: "S"},
		{Type: wire.Signal, Path: "/a", Interface: "org.freedesktop.DBus.Local", Member: "Disconnected"},
	} {
		c := b.dial()
		get(c.Send(h, nil))(t)
		must(t, c.AwaitEnd())
	}
}

func TestMaxMessageSize(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_message_size">10000</limit>`)
	to := b.dial()
	for _, n := range []int{9000, 11000, 1 << 20} {
		c := b.dial()
		h := call(to.Name, "M")
		h.Signature, h.Flags = "s", wire.NoReplyExpected
		_, err := c.Send(h, word(strings.Repeat("x", n)))
		if n < 10000 {
			must(t, err)
			next(t, to)
			continue
		}
		must(t, c.AwaitEnd())
		if want := fmt.Sprintf("max_message_size (%d)", 10000); !strings.Contains(b.log.String(), want) {
			t.Errorf("the log does not name %s", want)
		}
	}
	nothing(t, to)
}

// Whoever it is for: a peer, the bus itself, or a service that is still to come.
func TestWhatAPolicyAsksToLogIsLogged(t *testing.T) {
	s := &starter{names: []string{"com.example.Service"}}
	b := start(t, allowAll+`<policy context="default"><allow send_interface="com.example.I" log="true"/><allow send_interface="org.freedesktop.DBus" log="true"/></policy>`,
		func(o *busOptions) { o.Activation = s.activation() })
	from, to := b.dial(), b.dial()
	for _, receiver := range []string{to.Name, wire.BusName, "com.example.Service"} {
		h := call(receiver, "Logged")
		if receiver == wire.BusName {
			h = wire.Header{Type: wire.MethodCall, Path: wire.BusPath, Interface: wire.BusName, Member: "GetId", Destination: receiver}
		}
		get(from.Send(h, nil))(t)
		settle(t, from)
		logged := func(line string) bool {
			return strings.Contains(line, "the policy asks to log") && strings.Contains(line, from.Name) && strings.Contains(line, receiver)
		}
		if log := b.log.String(); !slices.ContainsFunc(strings.Split(log, "\n"), logged) {
			t.Errorf("of a message to %s: %s", receiver, log)
		}
	}
	s.fail("com.example.Service", "com.example.Failed", "it is not needed any more")
}
