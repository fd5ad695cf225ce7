package bus_test

import (
	"slices"
	"strings"
	"testing"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/client"
)

// A fault of the bus's own ends the peer whose messages were handled, or that
// was being sent to, and nobody else: not the bus, whatever it was doing.
func TestFaultOfTheBusEndsOnePeerAtMost(t *testing.T) {
	for _, v := range []struct {
		what  string
		fault func(b *bed, peer *client.Conn)
		ends  bool // the peer
	}{
		{"a message", func(b *bed, peer *client.Conn) {
			_, _ = peer.Call(call("com.example.Faulty", "M"), nil)
		}, true},
		{"a posted call", func(b *bed, _ *client.Conn) { b.Post(func() { panic("posted") }) }, false},
		{"a timer", func(b *bed, _ *client.Conn) {
			b.Do(func() { b.Overdue(func() { panic("overdue") }) })
		}, false},
		{"a turn's packets", func(b *bed, peer *client.Conn) { b.Do(func() { b.Garble(peer.Name) }) }, true},
	} {
		b := start(t, allowAll, func(o *busOptions) {
			o.Activation.Find = func(string) (bus.Service, bool) { panic("found") }
		})
		b.faults = true
		peer, other := b.dial(), b.dial()
		must(t, other.AddMatch("member='NameOwnerChanged'"))
		v.fault(b, peer)
		if v.ends {
			must(t, peer.AwaitEnd())
			for gone := ""; gone != peer.Name; { // others hear of it
				gone = first(get(other.Next())(t))
			}
		} else {
			nothing(t, peer)
		}
		nothing(t, other)
		b.dial().Close() // and new ones are accepted
		if n := strings.Count(b.log.String(), faultText); n != 1 {
			t.Errorf("%s: %d faults are logged", v.what, n)
		}
		if n := b.stats().Ended[slices.Index(bus.Reasons[:], "fault")]; n != 1 {
			t.Errorf("%s: %d faults are counted", v.what, n)
		}
	}
}
