package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

func hello(serial uint32) wire.Header {
	return wire.Header{Type: wire.MethodCall, Serial: serial, Path: wire.BusPath, Interface: wire.BusName, Member: "Hello", Destination: wire.BusName}
}

func TestHelloIsAnsweredBeforeItsSignals(t *testing.T) {
	b := start(t, allowAll)
	watcher := b.dial()
	must(t, watcher.AddMatch("type='signal',member='NameOwnerChanged'"))
	c := b.authenticated()
	must(t, c.SendRaw(client.Marshal(hello(1), nil)))
	reply, acquired := next(t, c), next(t, c)
	if reply.Type != wire.MethodReturn || reply.ReplySerial != 1 || acquired.Member != "NameAcquired" || acquired.Destination != reply.Destination {
		t.Errorf("got %s, then %s", describe(reply), describe(acquired))
	}
	name := describe(reply)[len("type 2 from org.freedesktop.DBus "):]
	if got := describe(next(t, watcher)); !strings.HasSuffix(got, fmt.Sprintf(`NameOwnerChanged %s "" %s`, name, name)) {
		t.Errorf("the watcher got %s", got)
	}
}

func TestSecondHelloFails(t *testing.T) {
	c := start(t, allowAll).dial()
	refused(t, c.Hello(), "Failed", "Already handled an Hello message")
	nothing(t, c)
}

func TestUniqueNamesAreNeverUsedAgain(t *testing.T) {
	b := start(t, allowAll)
	seen := map[string]bool{}
	for range 20 {
		c := b.dial()
		if seen[c.Name] {
			t.Fatalf("%s a second time", c.Name)
		}
		seen[c.Name] = true
		c.Close()
	}
}

// Report 15 (z-galaxy/busd 0f3a942, zbus#1760): Hello behind BEGIN was lost.
func TestHelloBehindBeginInOneWrite(t *testing.T) {
	b := start(t, allowAll)
	for range 50 {
		b.dial().Close() // Dial writes it all at once
	}
}

// Report 17 (flatpak/xdg-dbus-proxy#26): one answer a command, in order.
func TestEveryPipelinedCommandIsAnswered(t *testing.T) {
	c := start(t, allowAll).raw()
	must(t, c.SendRaw([]byte("\x00AUTH\r\nNONSENSE\r\nAUTH EXTERNAL\r\nCANCEL\r\nAUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n")))
	must(t, c.SendRaw(client.Marshal(hello(1), nil)))
	for _, want := range []string{"REJECTED ", "ERROR", "DATA", "REJECTED ", "DATA", "OK " + guid, "AGREE_UNIX_FD"} {
		if line := get(c.ReadLine())(t); !strings.HasPrefix(line, want) {
			t.Errorf("answer %q, want %q", line, want)
		}
	}
	if m := next(t, c); m.Type != wire.MethodReturn {
		t.Errorf("got %s", describe(m))
	}
}

func TestByteAtATimeIsAsGoodAsOneWrite(t *testing.T) {
	c := start(t, allowAll).raw()
	stream := append([]byte("\x00AUTH EXTERNAL "+hexUID(uid)+"\r\nBEGIN\r\n"), client.Marshal(hello(1), nil)...)
	stream = append(stream, client.Marshal(wire.Header{Type: wire.MethodCall, Serial: 2, Path: wire.BusPath, Member: "GetId", Destination: wire.BusName}, nil)...)
	for i := range stream {
		must(t, c.SendRaw(stream[i:i+1]))
	}
	get(c.ReadLine())(t)
	for _, want := range []uint32{1, 0, 2} {
		if m := next(t, c); m.ReplySerial != want {
			t.Errorf("got %s", describe(m))
		}
	}
}

// Random bytes and endless lines before authentication end the connection
// (dbus#421), and no other.
func TestGarbageBeforeAuthenticationEndsTheConnection(t *testing.T) {
	b := start(t, allowAll)
	other := b.dial()
	for what, data := range map[string]string{
		"no NUL":        "AUTH EXTERNAL\r\n",
		"random":        "\x00\xff\xfe\x01%n%s%n\r\n\xfd",
		"endless line":  "\x00" + strings.Repeat("A", 17<<10),
		"BEGIN at once": "\x00BEGIN\r\n",
		"rejections":    "\x00" + strings.Repeat("AUTH KERBEROS\r\n", 20),
		"wrong user":    "\x00" + strings.Repeat("AUTH EXTERNAL 313233343536\r\n", 20),
	} {
		c := b.raw()
		must(t, c.SendRaw([]byte(data)))
		if what == "random" { // it answers ERROR to any line that is a line
			c.Close()
			continue
		}
		for {
			if _, err := c.ReadLine(); err != nil {
				break
			}
		}
		c.Close()
	}
	nothing(t, other)
}

// Report 33: a message before Hello ends the connection and is logged; a call
// of the bus is refused, so that the mistake can be seen.
func TestMessageBeforeHello(t *testing.T) {
	b := start(t, allowAll)
	to := b.dial()
	c := b.authenticated()
	_, err := c.Driver("GetId", "", nil)
	refused(t, err, "AccessDenied", "Hello")
	must(t, c.Hello())
	c = b.authenticated()
	get(c.Send(wire.Header{Type: wire.MethodCall, Path: "/a", Member: "M", Destination: to.Name}, nil))(t)
	must(t, c.AwaitEnd())
	if log := b.log.String(); !strings.Contains(log, "before Hello") {
		t.Errorf("the log says nothing: %s", log)
	}
	nothing(t, to)
}

// CVE-2014-3639: connections that say nothing keep others out only until
// auth_timeout, and those wait and are not turned away.
func TestSilentConnectionsDelayOthersAndNoMore(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_incomplete_connections">8</limit><limit name="auth_timeout">300</limit>`)
	early := b.dial()
	var silent []*client.Conn
	for range 30 {
		silent = append(silent, b.raw())
	}
	late := b.dial() // waits for its turn
	for _, c := range []*client.Conn{early, late} {
		nothing(t, c)
	}
	for _, c := range silent {
		must(t, c.AwaitEnd())
	}
}

// Neither refused calls nor descriptors buy time (a variant of CVE-2014-3639).
func TestWithoutHelloNobodyStays(t *testing.T) {
	b := start(t, allowAll+`<limit name="auth_timeout">300</limit>`)
	plain, sly := b.authenticated(), b.authenticated()
	call := wire.Header{Type: wire.MethodCall, Path: wire.BusPath, Interface: wire.BusName, Member: "GetId", Destination: wire.BusName}
	get(plain.Send(call, nil))(t)
	get(sly.Send(call, nil, 0))(t)
	for _, c := range []*client.Conn{plain, sly} {
		must(t, c.AwaitEnd())
	}
}

func TestConnectionLimits(t *testing.T) {
	for limit, text := range map[string]string{"max_completed_connections": "number of active connections has been reached", "max_connections_per_user": "for UID"} {
		b := start(t, allowAll+fmt.Sprintf(`<limit name=%q>3</limit>`, limit))
		var all []*client.Conn
		for range 3 {
			all = append(all, b.dial())
		}
		c := b.authenticated()
		refused(t, c.Hello(), "LimitsExceeded", text, limit+"=3")
		all[0].Close()
		if !eventually(func() bool { return c.Hello() == nil }) { // it may try again
			t.Error("no place is free after one has left")
		}
	}
}

func TestAnonymousNeedsPermission(t *testing.T) {
	c := start(t, allowAll).raw()
	must(t, c.SendRaw([]byte("\x00AUTH ANONYMOUS 61\r\n")))
	if line := get(c.ReadLine())(t); line != "REJECTED EXTERNAL" {
		t.Errorf("answer %q", line)
	}
	b := start(t, allowAll+"<allow_anonymous/>")
	anonymous := b.dial(client.Options{Anonymous: true})
	other := b.dial()
	_, err := other.Driver("GetConnectionUnixUser", "s", func(e *wire.Encoder) { e.String(anonymous.Name) })
	refused(t, err, "Failed", anonymous.Name)
	_, err = other.Driver("GetConnectionUnixProcessID", "s", func(e *wire.Encoder) { e.String(anonymous.Name) })
	refused(t, err, "UnixProcessIdUnknown", anonymous.Name)
	reply := get(other.Driver("GetConnectionCredentials", "s", func(e *wire.Encoder) { e.String(anonymous.Name) }))(t)
	if len(reply.Body) != 8 { // an empty array
		t.Errorf("credentials of nobody: %x", reply.Body)
	}
}

func TestPolicyDecidesWhoConnects(t *testing.T) {
	b := start(t, `<policy context="default"><deny user="*"/></policy>`)
	c := b.raw()
	must(t, c.SendRaw([]byte("\x00AUTH EXTERNAL "+hexUID(uid)+"\r\n")))
	get(c.ReadLine())(t)
	must(t, c.SendRaw([]byte("BEGIN\r\n")))
	must(t, c.AwaitEnd())
	if log := b.log.String(); !strings.Contains(log, "does not let its user connect") || !strings.Contains(log, `deny user=`) {
		t.Error(b.log.String())
	}
}

func TestClosedConnectionsLeaveNothing(t *testing.T) {
	b := start(t, allowAll)
	for i := range 50 {
		c := b.raw()
		stream := append([]byte("\x00AUTH EXTERNAL "+hexUID(uid)+"\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"), client.Marshal(hello(1), nil)...)
		must(t, c.SendRaw(stream[:len(stream)*i/49]))
		c.Close()
	}
	if b.dial().Close() != nil || !eventually(func() bool { s := b.stats(); return s.Now.Incomplete+s.Now.Connections == 0 }) {
		t.Error("something is left")
	}
}

// Who has proved nothing yet cannot make the bus hold answers for it.
func TestAnswersToAuthenticationAreNotHeld(t *testing.T) {
	b := start(t, allowAll)
	c := b.raw()
	must(t, c.SendRaw([]byte{0}))
	line := []byte(strings.Repeat("X\r\n", 300))
	ended := false
	for sent := 0; sent < 1<<20 && !ended; sent += len(line) {
		ended = c.SendRaw(line) != nil
		b.Do(func() {}) // one read for each, so that no single one asks too much
	}
	if waiting := b.stats().Now.WaitingBytes; !ended || waiting > 0 {
		t.Errorf("the connection has ended: %v; %d bytes wait", ended, waiting)
	}
	if !strings.Contains(b.log.String(), "leaves the answers unread") {
		t.Error("nobody is told why")
	}
}
