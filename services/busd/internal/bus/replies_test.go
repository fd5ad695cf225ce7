package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

const noReply = "org.freedesktop.DBus.Error.NoReply"

func TestCalleeLeavesWithoutReplying(t *testing.T) {
	b := start(t, allowAll)
	caller, callee := b.dial(), b.dial()
	var serials []uint32
	for range 3 {
		serials = append(serials, get(caller.Send(call(callee.Name, "M"), nil))(t))
	}
	must(t, callee.Reply(next(t, callee), "", nil))
	settle(t, callee)
	callee.Close()
	next(t, caller)
	left := map[uint32]bool{serials[1]: true, serials[2]: true}
	for range 2 {
		m := next(t, caller)
		if d := m.Values(); m.ErrorName != noReply || !left[m.ReplySerial] || d.String() != "Message recipient disconnected from message bus without replying" {
			t.Errorf("got %s for %d", describe(m), m.ReplySerial)
		}
		delete(left, m.ReplySerial)
	}
	nothing(t, caller)
}

func TestReplyTimeout(t *testing.T) {
	b := start(t, allowAll+`<limit name="reply_timeout">100</limit>`)
	caller, callee := b.dial(), b.dial()
	_, err := caller.Call(call(callee.Name, "M"), nil)
	refused(t, err, "NoReply", "Message did not receive a reply (timeout by message bus)")
	// In time, it is none of the bus's business any more.
	serial := get(caller.Send(call(callee.Name, "N"), nil))(t)
	next(t, callee)
	must(t, callee.Reply(next(t, callee), "", nil))
	if m := next(t, caller); m.Type != wire.MethodReturn || m.ReplySerial != serial {
		t.Errorf("got %s", describe(m))
	}
	nothing(t, caller)
}

func TestCallWithoutReplyIsNotRemembered(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_replies_per_connection">1</limit>`)
	caller, callee := b.dial(), b.dial()
	h := call(callee.Name, "M")
	h.Flags = wire.NoReplyExpected
	for range 5 {
		get(caller.Send(h, nil))(t)
	}
	if settle(t, caller); b.stats().Now.PendingReplies != 0 {
		t.Error("calls that want no reply are pending")
	}
	if n := len(settle(t, callee)); n != 5 {
		t.Errorf("%d calls", n)
	}
	callee.Close()
	nothing(t, caller)
}

// CVE-2014-3638: how many replies may be awaited is bounded.
func TestMaxRepliesPerConnection(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_replies_per_connection">3</limit>`)
	caller, callee := b.dial(), b.dial()
	for range 3 {
		get(caller.Send(call(callee.Name, "M"), nil))(t)
	}
	_, err := caller.Call(call(callee.Name, "M"), nil)
	refused(t, err, "LimitsExceeded", "max_replies_per_connection=3")
	must(t, callee.Reply(next(t, callee), "", nil))
	settle(t, callee)
	get(caller.Send(call(callee.Name, "N"), nil))(t)
	settle(t, caller)
	var got []string
	for _, m := range settle(t, callee) {
		got = append(got, m.Member)
	}
	same(t, "the callee", got, "N")
}

func TestSerialThatIsOutstandingIsRefused(t *testing.T) {
	b := start(t, allowAll)
	caller, callee, other := b.dial(), b.dial(), b.dial()
	h := call(callee.Name, "M")
	h.Serial = 4711
	get(caller.Send(h, nil))(t)
	_, err := caller.Call(h, nil)
	refused(t, err, "AccessDenied", "Message has the same reply serial as a currently-outstanding existing method call")
	h.Destination = other.Name // to somebody else it is another call
	get(caller.Send(h, nil))(t)
	for _, c := range []*client.Conn{callee, other} {
		must(t, c.Reply(next(t, c), "", nil))
		next(t, caller)
	}
	h.Destination = callee.Name // and it is free again
	get(caller.Send(h, nil))(t)
	must(t, callee.Reply(next(t, callee), "", nil))
	next(t, caller)
}

// A call is settled by the one reply that it is due, which only its callee can
// give.
func TestReplyIsRequestedOnce(t *testing.T) {
	b := start(t, systemLike+`<policy context="default"><allow send_interface="com.example.I"/></policy>`)
	caller, callee, stranger := b.dial(), b.dial(), b.dial()
	serial := get(caller.Send(call(callee.Name, "M"), nil))(t)
	m := next(t, callee)
	forged := wire.Header{Type: wire.MethodReturn, Destination: caller.Name, ReplySerial: serial}
	get(stranger.Send(forged, nil))(t)
	if m := next(t, stranger); !strings.HasSuffix(m.ErrorName, "AccessDenied") || !strings.Contains(describe(m), `requested_reply=\"0\"`) {
		t.Errorf("the forged reply: %s", describe(m))
	}
	must(t, callee.Reply(m, "", nil))
	must(t, callee.Refuse(m, "com.example.E", "again"))
	if m := next(t, callee); !strings.HasSuffix(m.ErrorName, "AccessDenied") {
		t.Errorf("the second reply: %s", describe(m))
	}
	if m := next(t, caller); m.Type != wire.MethodReturn || m.Sender != callee.Name {
		t.Errorf("got %s", describe(m))
	}
	nothing(t, caller)
}

// The stock session bus lets replies pass that nobody asked for.
func TestUnrequestedReplyPassesWherePolicySaysSo(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(), b.dial()
	get(from.Send(wire.Header{Type: wire.ErrorReply, Destination: to.Name, ReplySerial: 99, ErrorName: "com.example.E"}, nil))(t)
	if m := next(t, to); m.ReplySerial != 99 || m.ErrorName != "com.example.E" {
		t.Errorf("got %s", describe(m))
	}
	nothing(t, from)
}

func TestReplyAfterTheCallerLeft(t *testing.T) {
	b := start(t, allowAll)
	caller, callee := b.dial(), b.dial()
	get(caller.Send(call(callee.Name, "M"), nil))(t)
	m := next(t, callee)
	caller.Close()
	if !eventually(func() bool { return b.stats().Now.PendingReplies == 0 }) {
		t.Error("the call of one who left is pending")
	}
	must(t, callee.Reply(m, "", nil))
	if m := next(t, callee); !strings.HasSuffix(m.ErrorName, "ServiceUnknown") {
		t.Errorf("got %s", describe(m))
	}
}

func TestMonitorsHaveNoPendingReplies(t *testing.T) {
	b := start(t, allowAll)
	caller, callee := b.dial(), b.dial()
	get(caller.Send(call(callee.Name, "M"), nil))(t)
	get(callee.Send(call(caller.Name, "M"), nil))(t)
	settle(t, callee)
	becomeMonitor(t, callee)
	var errors []string
	for _, m := range settle(t, caller) {
		if m.Type == wire.ErrorReply {
			errors = append(errors, m.ErrorName)
		}
	}
	same(t, "the caller", errors, noReply)
	if n := b.stats().Now.PendingReplies; n != 0 {
		t.Errorf("%d pending", n)
	}
}

func becomeMonitor(t testing.TB, c *client.Conn, rules ...string) {
	t.Helper()
	get(c.Call(wire.Header{Path: wire.BusPath, Interface: "org.freedesktop.DBus.Monitoring", Member: "BecomeMonitor", Destination: wire.BusName, Signature: "asu"}, monitorArgs(0, rules...)))(t)
}

func monitorArgs(flags uint32, rules ...string) client.Write {
	return func(e *wire.Encoder) {
		mark := e.OpenArray(4)
		for _, r := range rules {
			e.String(r)
		}
		e.CloseArray(mark)
		e.Uint32(flags)
	}
}

// Every call gets exactly one answer, its own or NoReply, though callees come
// and go.
func TestEveryCallIsAnsweredOnce(t *testing.T) {
	b := start(t, allowAll)
	const callers, calls = 4, 200
	done := make(chan struct{})
	left := make(chan error, 1)
	go func() {
		left <- func() error {
			for i := 0; ; i++ {
				c, err := client.Dial(b.address, client.Options{Timeout: patience})
				if err != nil {
					return err
				}
				if _, err = c.RequestName("com.example.A", 2|1); err != nil {
					return err
				}
				for range 20 + i%30 {
					select {
					case <-done:
						return c.Close()
					default:
					}
					m, err := c.Next()
					if err != nil {
						return err
					}
					if m.Type == wire.MethodCall && i%3 != 0 {
						if err := c.Reply(m, "s", word(m.Sender)); err != nil {
							return err
						}
					}
					if m.Type == wire.MethodCall && i%3 == 0 {
						break // it hangs up and answers nothing
					}
				}
				c.Close()
			}
		}()
	}()
	ended := make(chan error, callers)
	for range callers {
		c := b.dial()
		go func() {
			ended <- func() error {
				for i := range calls {
					m, err := c.Call(call("com.example.A", "M"), nil)
					if e, ok := err.(*client.Error); ok && (e.Name == noReply || strings.HasSuffix(e.Name, "ServiceUnknown")) {
						continue
					}
					if err != nil {
						return fmt.Errorf("call %d: %w", i, err)
					}
					if d := m.Values(); d.String() != c.Name {
						return fmt.Errorf("call %d got the answer of another", i)
					}
				}
				if more := c.Waiting(); len(more) > 0 {
					return fmt.Errorf("further answers: %s", describe(more[0]))
				}
				return nil
			}()
		}()
	}
	for range callers {
		must(t, <-ended)
	}
	close(done)
	c := b.dial()
	for { // whoever still waits for a message gets one
		select {
		case err := <-left:
			must(t, err)
			return
		default:
			h := call("com.example.A", "M")
			h.Flags = wire.NoReplyExpected
			get(c.Send(h, nil))(t)
			settle(t, c)
		}
	}
}
