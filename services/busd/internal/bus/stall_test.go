package bus_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// flood sends signals with a body of that size until stop is closed.
func flood(c *client.Conn, size int, stop <-chan struct{}) <-chan error {
	ended := make(chan error, 1)
	body := strings.Repeat("x", size)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := c.Signal("/a", "com.example.Flood", "S", "s", word(body)); err != nil {
				ended <- err
				return
			}
		}
	}()
	return ended
}

// drain reads everything that comes until something by that name has.
func drain(c *client.Conn, last string) (count func() int) {
	n, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		for {
			m, err := c.Next()
			if err != nil || m.Member == last {
				return
			}
			n++
		}
	}()
	return func() int { <-done; return n }
}

func sendTimeout(d time.Duration) edit {
	return func(o *busOptions) { o.SendTimeout = d }
}

// A subscriber that reads nothing is disconnected within SendTimeout, though
// the flood goes on, and nobody else is. Report 19 (dbus-broker#236, #167).
func TestStalledSubscriberAloneIsDisconnected(t *testing.T) {
	b := start(t, allowAll, sendTimeout(time.Second))
	from, stalled, keen, idle := b.dial(), b.dial(), b.dial(), b.dial()
	get(stalled.RequestName("com.example.Stalled", 0))(t)
	for _, c := range []*client.Conn{stalled, keen} {
		must(t, c.AddMatch("interface='com.example.Flood'"))
	}
	read := drain(keen, "Last")
	stop := make(chan struct{})
	ended := flood(from, 5000, stop)
	if !eventually(func() bool { return b.stats().Ended[6] == 1 }) {
		t.Errorf("it is still there: %+v", b.stats())
	}
	close(stop)
	must(t, <-ended)
	if bus.Reasons[6] != "stalled" {
		t.Fatal("the reasons have changed")
	}
	nothing(t, from)
	nothing(t, idle)
	if s := b.stats(); s.Now.Connections != 3 || s.Ended[6] != 1 {
		t.Errorf("%+v", s)
	}
	get(from.Send(quietly(keen.Name, "Last"), nil))(t)
	if read() == 0 {
		t.Error("who reads got nothing")
	}
	// Reports 20 (#396, #361): who it was is in the log, and what helps.
	for _, what := range []string{stalled.Name, "com.example.Stalled", "BUSD_SEND_TIMEOUT", fmt.Sprintf("uid=%d", uid), "pid=", "program="} {
		if !strings.Contains(b.log.String(), what) {
			t.Errorf("the log lacks %q:\n%s", what, b.log)
		}
	}
	must(t, stalled.AwaitEnd())
}

// To take a few bytes now and then is not to keep up.
func TestTrickleIsNoProgress(t *testing.T) {
	b := start(t, allowAll, sendTimeout(400*time.Millisecond))
	from, slow := b.dial(), b.dial()
	must(t, slow.AddMatch("interface='com.example.Flood'"))
	slow.Waiting()
	stop := make(chan struct{})
	ended := flood(from, 4000, stop)
	began := time.Now()
	slow.Timeout = time.Second
	gone := false
	for time.Since(began) < patience && !gone {
		if _, err := slow.Next(); err != nil {
			break
		}
		gone = b.stats().Ended[6] == 1
		time.Sleep(5 * time.Millisecond) // the trickle: 4 KB each
	}
	close(stop)
	must(t, <-ended)
	if !eventually(func() bool { return b.stats().Ended[6] == 1 }) {
		t.Error("it is still there")
	}
	nothing(t, from)
}

// Who is late but takes within the time what waits for it stays.
func TestWhoKeepsUpLateStays(t *testing.T) {
	b := start(t, allowAll, sendTimeout(2*time.Second))
	from, late := b.dial(), b.dial()
	for range 3 {
		const n = 200
		for range n {
			h := quietly(late.Name, "M")
			h.Signature = "s"
			get(from.Send(h, word(strings.Repeat("x", 5000))))(t)
		}
		settle(t, from)
		if b.stats().Now.WaitingBytes == 0 {
			t.Fatal("nothing has to wait")
		}
		for range n {
			next(t, late)
		}
	}
	if s := b.stats(); s.Ended[6] != 0 || s.Now.WaitingBytes != 0 {
		t.Errorf("%+v", s)
	}
	bytes, _ := int64(0), 0
	b.Do(func() { bytes, _ = b.Charged(int64(uid)) })
	if bytes != 0 {
		t.Errorf("%d bytes are still charged", bytes)
	}
}

// Over max_outgoing_bytes callers are refused, broadcasts are left out, and
// the recipient stays.
func TestBeyondMaxOutgoingBytesSendersAreRefused(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_outgoing_bytes">100000</limit>`)
	from, to := b.dial(), b.dial()
	get(to.RequestName("com.example.To", 0))(t)
	must(t, to.AddMatch("interface='com.example.I'"))
	settle(t, to)
	body := word(strings.Repeat("x", 10000))
	h := call("com.example.To", "M")
	h.Signature = "s"
	sent, refusedOne := 0, false
	for range 200 {
		serial := get(from.Send(h, body))(t)
		all := settle(t, from)
		if len(all) == 0 {
			sent++
			continue
		}
		m := all[0]
		if m.ReplySerial != serial || m.ErrorName != driverError+"LimitsExceeded" || !strings.Contains(describe(m), "The destination service 'com.example.To' has a full message queue") {
			t.Fatalf("got %s", describe(m))
		}
		refusedOne = true
		break
	}
	if !refusedOne {
		t.Fatal("no call was refused")
	}
	must(t, from.Signal("/a", "com.example.I", "Left", "s", body))
	settle(t, from)
	for range sent {
		if m := next(t, to); m.Member != "M" {
			t.Errorf("got %s", describe(m))
		}
	}
	nothing(t, to)
}

// quota bounds what waits for a user.
func quota(bytes int64) edit {
	return func(o *busOptions) { o.Quota = bus.Quota{Bytes: bytes, FDs: 100} }
}

// Who makes messages wait pays for them: a user that floods a victim can have
// no more waiting than its quota, is told so, and does not take the victim
// along. Report 19.
func TestFloodIsOnTheSendersAccount(t *testing.T) {
	b := start(t, allowAll+"<allow_anonymous/>", quota(300000))
	victim, friend := b.dial(), b.dial()
	attacker := b.dial(client.Options{Anonymous: true})
	h := call(victim.Name, "M")
	h.Signature = "s"
	body := word(strings.Repeat("x", 20000))
	told := false
	for range 100 {
		get(attacker.Send(h, body))(t)
		for _, m := range settle(t, attacker) {
			told = told || m.ErrorName == driverError+"LimitsExceeded" && strings.Contains(describe(m), "full message queue")
		}
		if told {
			break
		}
	}
	if !told {
		t.Error("the attacker was never refused")
	}
	var theirs, ours int64
	b.Do(func() { theirs, _ = b.Charged(-1); ours, _ = b.Charged(int64(uid)) })
	if theirs == 0 || theirs > 300000+40000 || ours != 0 {
		t.Errorf("charged: attacker %d, victim %d", theirs, ours)
	}
	// The victim's friends still reach it.
	get(friend.Send(quietly(victim.Name, "Friend"), nil))(t)
	nothing(t, friend)
	got := ""
	for got != "Friend" {
		got = next(t, victim).Member
	}
	if s := b.stats(); s.Now.Connections != 3 {
		t.Errorf("%+v", s.Now)
	}
}

// A user whose quota is used up cannot have others disconnected by sending
// them what does not go into their sockets at once.
func TestUsedUpQuotaHarmsNobodyElse(t *testing.T) {
	b := start(t, allowAll+"<allow_anonymous/>", quota(300000))
	attacker, sink := b.dial(client.Options{Anonymous: true}), b.dial(client.Options{Anonymous: true})
	victims := []*client.Conn{b.dial(), b.dial(), b.dial()}
	h := quietly(sink.Name, "M")
	h.Signature = "s"
	for range 100 { // the attacker's own, who reads nothing, uses it up
		get(attacker.Send(h, word(strings.Repeat("x", 20000))))(t)
	}
	settle(t, attacker)
	for _, size := range []int{20000, 1 << 20} {
		for _, v := range victims {
			for range 30 {
				h := quietly(v.Name, "M")
				h.Signature = "s"
				get(attacker.Send(h, word(strings.Repeat("x", size))))(t)
			}
			settle(t, attacker)
		}
	}
	for _, v := range victims {
		if _, err := v.Settle(); err != nil {
			t.Errorf("%s: %v\n%s", v.Name, err, b.log)
		}
	}
}

// Broadcasts and replies that somebody asked for are on the receiver's
// account.
func TestBroadcastsAreOnTheReceiversAccount(t *testing.T) {
	b := start(t, allowAll+"<allow_anonymous/>", quota(300000))
	from, lazy := b.dial(), b.dial(client.Options{Anonymous: true})
	must(t, lazy.AddMatch("interface='com.example.I'"))
	for range 100 {
		must(t, from.Signal("/a", "com.example.I", "S", "s", word(strings.Repeat("x", 20000))))
	}
	settle(t, from)
	var theirs, ours int64
	b.Do(func() { theirs, _ = b.Charged(-1); ours, _ = b.Charged(int64(uid)) })
	if theirs == 0 || theirs > 340000 || ours != 0 {
		t.Errorf("charged: receiver %d, sender %d", theirs, ours)
	}
	for range 100 {
		must(t, from.Signal("/a", "com.example.J", "S", "s", word("x")))
	}
	nothing(t, from)
}

// Report 20 (dbus-broker#430): a user may have a quota of its own.
func TestQuotaOfOneUser(t *testing.T) {
	b := start(t, allowAll, func(o *busOptions) {
		o.Quota = bus.Quota{Bytes: 1 << 30, FDs: 100}
		o.Quotas = map[uint32]bus.Quota{uint32(uid): {Bytes: 50000, FDs: 10}}
	})
	from, to := b.dial(), b.dial()
	h := call(to.Name, "M")
	h.Signature = "s"
	for range 200 {
		get(from.Send(h, word(strings.Repeat("x", 10000))))(t)
	}
	refusals := 0
	for _, m := range settle(t, from) {
		if m.Type == wire.ErrorReply {
			refusals++
		}
	}
	if refusals == 0 || b.stats().Now.WaitingBytes > 50000+300<<10 {
		t.Errorf("%d refusals, %d bytes wait", refusals, b.stats().Now.WaitingBytes)
	}
}

// What waits is on its sender's account, though that has left the bus in the
// very turn in which it sent it, and nobody else of its user is there.
func TestLeaverPaysForItsLastMessage(t *testing.T) {
	const sender = 1234
	b := start(t, allowAll)
	to, filler, from := b.dial(), b.dial(), b.dialAs(sender)
	body := strings.Repeat("x", 30000)
	for b.stats().Now.WaitingBytes == 0 {
		h := quietly(to.Name, "Filler")
		h.Signature = "s"
		get(filler.Send(h, word(body)))(t)
	}
	h := quietly(to.Name, "Last")
	h.Serial, h.Signature = 99, "s"
	must(t, from.SendRaw(append(client.Marshal(h, word(body)), "which is no message"...)))
	must(t, from.AwaitEnd())
	charged := func() (n int64) {
		b.Do(func() { n, _ = b.Charged(sender) })
		return n
	}
	if n := charged(); n < int64(len(body)) {
		t.Errorf("it is charged with %d bytes", n)
	}
	b.dialAs(sender + 1).Close() // another user comes and goes meanwhile
	if b.dialAs(sender); charged() < int64(len(body)) {
		t.Error("its user has a new account")
	}
	for next(t, to).Member != "Last" {
	}
	if n := charged(); n != 0 {
		t.Errorf("%d bytes are charged for ever", n)
	}
}
