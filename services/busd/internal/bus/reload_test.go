package bus_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// apply replaces the configuration.
func (b *bed) apply(config string) {
	b.t.Helper()
	settings, _ := parseSettings(b.t, config)
	b.Do(func() { b.Apply(settings) })
}

// Whoever is connected is judged by the new policy, from the next message on.
func TestNewPolicyHoldsForWhoIsConnected(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(), b.dial()
	get(from.Send(call(to.Name, "Old"), nil))(t)
	old := next(t, to)
	b.apply(systemLike)
	_, err := from.Call(call(to.Name, "M"), nil)
	refused(t, err, "AccessDenied")
	_, err = from.RequestName("com.example.A", 0)
	refused(t, err, "AccessDenied")
	must(t, to.Reply(old, "", nil)) // it is still requested
	if m := next(t, from); m.Type != wire.MethodReturn {
		t.Errorf("got %s", describe(m))
	}
	b.apply(allowAll)
	get(from.Send(call(to.Name, "New"), nil))(t)
	must(t, to.Reply(next(t, to), "", nil))
	next(t, from)
}

func TestNewLimitsHoldForWhatComes(t *testing.T) {
	b := start(t, allowAll)
	c := b.dial()
	for _, rule := range []string{"member='A'", "member='B'", "member='C'"} {
		must(t, c.AddMatch(rule))
	}
	b.apply(allowAll + `<limit name="max_match_rules_per_connection">2</limit><limit name="max_incomplete_connections">1</limit>`)
	refused(t, c.AddMatch("member='D'"), "LimitsExceeded", "=2")
	b.dial()
	b.apply(allowAll)
	must(t, c.AddMatch("member='D'"))
}

// bus1/dbus-broker#69, #206: who asks for a name whose policy was installed just
// now is not refused before that was read.
func TestNoNameIsRefusedBeforeTheNewPolicyIsRead(t *testing.T) {
	var changing atomic.Bool
	reloads := make(chan func(error), 1)
	b := start(t, systemLike, func(o *busOptions) {
		o.Activation.Changing = changing.Load
		o.Reload = func(done func(error)) { reloads <- done }
	})
	c := b.dial()
	ask := func(c *client.Conn) uint32 {
		h := wire.Header{Type: wire.MethodCall, Path: wire.BusPath, Interface: wire.BusName, Member: "RequestName", Destination: wire.BusName, Signature: "su"}
		return get(c.Send(h, func(e *wire.Encoder) { e.String("com.example.A"); e.Uint32(0) }))(t)
	}
	answer := func(serial uint32) *client.Message {
		t.Helper()
		for {
			if m := next(t, c); m.Type != wire.Signal {
				if m.ReplySerial != serial {
					t.Errorf("an answer to %d, want %d", m.ReplySerial, serial)
				}
				return m
			}
		}
	}
	if m := answer(ask(c)); m.Type != wire.ErrorReply || len(reloads) != 0 {
		t.Errorf("nothing has changed: got %s, reloads %d", describe(m), len(reloads))
	}
	changing.Store(true)
	first := ask(c)
	(<-reloads)(errors.New("a fault in it"))
	if m := answer(first); m.Type != wire.ErrorReply {
		t.Errorf("it is as before: got %s", describe(m))
	}
	second := ask(c)
	settle(t, c) // it waits, and nobody else
	b.apply(allowAll)
	(<-reloads)(nil)
	if m := answer(second); m.Type != wire.MethodReturn {
		t.Errorf("it may now: got %s", describe(m))
	}
	gone := b.dial()
	b.apply(systemLike)
	ask(gone)
	done := <-reloads
	must(t, gone.Close())
	done(nil)
}

// Who comes to the console is judged as somebody there from the next connection
// on, also where the same user has connected before.
func TestConsoleIsAskedForAtEachConnection(t *testing.T) {
	const config = allowAll + `<policy context="default"><deny own="*"/></policy><policy at_console="true"><allow own="a.b"/></policy>`
	b := start(t, config)
	var there atomic.Bool
	settings, _ := parseSettings(t, config)
	settings.AtConsole = func(uint32) bool { return there.Load() }
	b.Do(func() { b.Apply(settings) })
	for _, want := range []bool{false, true, false} {
		there.Store(want)
		c := b.dial()
		_, err := c.RequestName("a.b", 0)
		if got := err == nil; got != want {
			t.Errorf("at the console: %v, may own: %v (%v)", want, got, err)
		}
		must(t, c.Close())
	}
}

// Each caller goes on until it has met both policies.
func TestReloadsLoseNoCall(t *testing.T) {
	b := start(t, allowAll)
	to := b.dial()
	const callers, calls = 4, 300
	ended := make(chan error, callers+1)
	call := func(c *client.Conn) error {
		var answered, refused bool
		for n := 0; n < calls || !answered || !refused; n++ {
			_, err := c.Call(call(to.Name, "M"), nil)
			e, ok := err.(*client.Error)
			switch {
			case err == nil:
				answered = true
			case ok && e.Name == driverError+"AccessDenied":
				refused = true
			default:
				return err
			}
		}
		return nil
	}
	for range callers {
		c := b.dial()
		go func() { ended <- call(c) }()
	}
	go func() {
		for {
			m, err := to.Next()
			if err != nil || m.Member == "End" {
				ended <- err
				return
			}
			if m.Type == wire.MethodCall {
				if err := to.Reply(m, "", nil); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	for left, i := callers, 0; left > 0; i++ {
		if i%2 == 0 {
			b.apply(systemLike)
		} else {
			b.apply(allowAll)
		}
		select {
		case err := <-ended:
			must(t, err)
			left--
		default:
		}
	}
	b.apply(allowAll)
	get(b.dial().Send(quietly(to.Name, "End"), nil))(t)
	must(t, <-ended)
}

var reloadCall = wire.Header{Type: wire.MethodCall, Path: wire.BusPath, Interface: wire.BusName, Member: "ReloadConfig", Destination: wire.BusName}

// Report 23: ReloadConfig returns when the configuration is applied, or with
// why it was not.
func TestReloadConfigIsAnsweredWhenItIsApplied(t *testing.T) {
	var b *bed
	fault := errors.New("bus-\xff.conf:7: limit \"x\" is unknown")
	again := false
	b = start(t, allowAll, func(o *busOptions) {
		o.Reload = func(done func(error)) {
			first := !again
			again = true
			go func() {
				if first {
					done(fault)
					return
				}
				settings, _ := parseSettings(t, systemLike)
				b.Do(func() { b.Apply(settings) })
				done(nil)
			}()
		}
	})
	c := b.dial()
	_, err := c.Driver("ReloadConfig", "", nil)
	refused(t, err, "Failed", `limit "x" is unknown`)
	if e, ok := err.(*client.Error); ok && !utf8.ValidString(e.Text) { // a library would hang up on the bus
		t.Errorf("the text %q is no text", e.Text)
	}
	get(c.Driver("ReloadConfig", "", nil))(t)
	_, err = c.RequestName("com.example.A", 0)
	refused(t, err, "AccessDenied")
	// Who asks and leaves is not waited for.
	get(c.Send(reloadCall, nil))(t)
	c.Close()
}

// However many ask for a reload, one runs, and one behind it is for all who have
// asked since. Nobody awaits more of them than it may replies, and who leaves is
// forgotten.
func TestReloadsAreShared(t *testing.T) {
	running := make(chan func(error), 10)
	b := start(t, allowAll+`<limit name="max_replies_per_connection">5</limit>`, func(o *busOptions) {
		o.Reload = func(done func(error)) { running <- done }
	})
	c, other, leaver := b.dial(), b.dial(), b.dial()
	ask := func(c *client.Conn) {
		t.Helper()
		get(c.Send(reloadCall, nil))(t)
	}
	answers := func(c *client.Conn, n int) {
		t.Helper()
		for range n {
			if m := next(t, c); m.Type != wire.MethodReturn {
				t.Errorf("got %s", describe(m))
			}
		}
		nothing(t, c)
	}
	for range 8 {
		ask(c)
	}
	for range 3 {
		if m := next(t, c); m.ErrorName != driverError+"LimitsExceeded" {
			t.Errorf("got %s", describe(m))
		}
	}
	ask(other)
	ask(leaver)
	settle(t, other)
	settle(t, leaver)
	leaver.Close()
	first := <-running
	if len(running) > 0 {
		t.Error("two reloads run at once")
	}
	first(nil) // the first call's alone: it had begun before the others came
	answers(c, 1)
	(<-running)(nil)
	answers(c, 4)
	answers(other, 1)
	if len(running) > 0 {
		t.Error("a reload runs that nobody asked for")
	}
	ask(c)
	(<-running)(nil)
	answers(c, 1)
}
