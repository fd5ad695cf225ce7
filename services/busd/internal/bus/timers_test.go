package bus_test

import (
	"strings"
	"testing"

	"quartet/services/busd/internal/client"
)

// A timeout of 0 is over at once, as in dbus-daemon, but for those of replies
// and of what is left unread: these are none.
func TestTimeoutOfZero(t *testing.T) {
	t.Run("auth_timeout", func(t *testing.T) {
		b := start(t, allowAll+`<limit name="auth_timeout">0</limit>`)
		must(t, b.raw().AwaitEnd())
		if !strings.Contains(b.log.String(), "auth_timeout") {
			t.Error("nobody is told why")
		}
	})
	t.Run("service_start_timeout", func(t *testing.T) {
		b := start(t, allowAll+`<limit name="service_start_timeout">0</limit>`, withServices(&starter{names: []string{service}}))
		_, err := b.dial().Call(call(service, "M"), nil)
		refused(t, err, "TimedOut", "(service_start_timeout=0ms)")
	})
	t.Run("pending_fd_timeout", func(t *testing.T) {
		b := start(t, allowAll+`<limit name="pending_fd_timeout">0</limit>`, func(o *busOptions) { o.BatchMessages = 1 })
		from, to, other := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true}), b.dial()
		h := quietly(to.Name, "M")
		h.UnixFDs = 1
		var all []byte
		var fds []int
		const n = 5
		for i := range n {
			h.Serial = uint32(100 + i)
			all = append(all, client.Marshal(h, nil)...)
			fds = append(fds, marked(t, 1))
		}
		resume := b.pause()
		must(t, from.SendRaw(all, fds...)) // whole messages, if they have to wait
		get(other.Send(quietly(to.Name, "Other"), nil))(t)
		resume()
		for got := 0; got < n; {
			m := next(t, to)
			if m.Member == "M" {
				got++
			}
			m.CloseFDs()
		}
		nothing(t, from)
		_ = from.SendRaw(all[:20], fds[0]) // it may not get as far
		must(t, from.AwaitEnd())
	})
	t.Run("reply_timeout", func(t *testing.T) {
		b := start(t, allowAll+`<limit name="reply_timeout">0</limit>`)
		caller, callee := b.dial(), b.dial()
		get(caller.Send(call(callee.Name, "M"), nil))(t)
		nothing(t, caller)
		b.untimed()
		if n := b.stats().Now.PendingReplies; n != 1 {
			t.Errorf("%d replies are awaited", n)
		}
	})
	t.Run("send_timeout", func(t *testing.T) {
		b := start(t, allowAll, sendTimeout(0))
		from, to := b.dial(), b.dial()
		h := quietly(to.Name, "M")
		h.Signature = "s"
		for range 100 {
			get(from.Send(h, word(strings.Repeat("x", 10000))))(t)
		}
		nothing(t, from)
		if b.stats().Now.WaitingBytes == 0 {
			t.Fatal("nothing has to wait")
		}
		b.untimed()
		settle(t, to)
	})
}

// untimed checks that no timer is set.
func (b *bed) untimed() {
	b.t.Helper()
	b.Do(func() {
		if n := b.Timers(); n > 0 {
			b.t.Errorf("%d timers are set", n)
		}
	})
}
