package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// firstOf says how many messages of a flood were handled before another
// peer's one message that was there from the beginning.
func firstOf(t *testing.T, b *bed, flood, size int) int {
	t.Helper()
	loud, quiet, to := b.dial(), b.dial(), b.dial()
	resume := b.pause()
	var stream []byte
	for i := range flood {
		h := quietly(to.Name, "Loud")
		h.Serial, h.Signature = uint32(i+100), "s"
		stream = append(stream, client.Marshal(h, word(strings.Repeat("x", size)))...)
	}
	must(t, loud.SendRaw(stream))
	get(quiet.Send(quietly(to.Name, "Quiet"), nil))(t)
	resume()
	before := 0
	for range flood + 1 {
		if next(t, to).Member == "Quiet" {
			return before
		}
		before++
	}
	t.Fatal("the quiet one was not heard")
	return 0
}

// While others wait a peer has a share of BatchMessages and BatchBytes a turn.
func TestShareOfAPeerIsBounded(t *testing.T) {
	for _, c := range []struct{ messages, bytes, size, most int }{
		{16, 1 << 20, 1, 17},
		{1 << 20, 16 << 10, 1000, 17},
		{1 << 20, 4 << 10, 1000, 5},
		{1, 1 << 20, 1, 2},
	} {
		b := start(t, allowAll, func(o *busOptions) { o.BatchMessages, o.BatchBytes = c.messages, c.bytes })
		if n := firstOf(t, b, 100, c.size); n > c.most {
			t.Errorf("%d messages, %d bytes a batch: %d of %d bytes came first", c.messages, c.bytes, n, c.size)
		}
	}
}

// A share of the smallest kind holds nothing up for good.
func TestSmallestShare(t *testing.T) {
	b := start(t, allowAll, func(o *busOptions) { o.BatchMessages, o.BatchBytes = 1, 1 })
	to := b.dial()
	const senders, each = 5, 60
	ended := make(chan error, senders)
	for range senders {
		c := b.dial()
		go func() {
			var err error
			for n := 0; n < each && err == nil; n++ {
				h := quietly(to.Name, fmt.Sprint("M", n))
				h.Signature = "s"
				_, err = c.Send(h, word(strings.Repeat("x", n*n)))
			}
			ended <- err
		}()
	}
	seen := map[string]int{}
	for range senders * each {
		m := next(t, to)
		if m.Member != fmt.Sprint("M", seen[m.Sender]) {
			t.Fatalf("%s of %s after %d", m.Member, m.Sender, seen[m.Sender])
		}
		seen[m.Sender]++
	}
	for range senders {
		must(t, <-ended)
	}
}

// One message of a batch with descriptors does not keep the others from who
// takes none.
func TestBatchWithDescriptors(t *testing.T) {
	b := start(t, allowAll)
	from, with, without := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true}), b.dial()
	for _, c := range []*client.Conn{with, without} {
		must(t, c.AddMatch("interface='com.example.I'"))
	}
	resume := b.pause()
	fd := marked(t, 5)
	for i := range 40 {
		h := wire.Header{Type: wire.Signal, Path: "/a", Interface: "com.example.I", Member: fmt.Sprint("S", i)}
		var fds []int
		if i%10 == 3 {
			fds = []int{fd}
		}
		get(from.Send(h, nil, fds...))(t)
	}
	resume()
	for i := range 40 {
		m := next(t, with)
		if m.Member != fmt.Sprint("S", i) {
			t.Fatalf("got %s at %d", m.Member, i)
		}
		if i%10 == 3 {
			checkFDs(t, m, 5)
			continue
		}
		checkFDs(t, m)
		if m := next(t, without); m.Member != fmt.Sprint("S", i) {
			t.Fatalf("got %s at %d", m.Member, i)
		}
	}
}

// A batch of messages is received with few reads and sent with few calls.
func TestBatchesTakeFewCalls(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(), b.dial()
	before := b.stats()
	resume := b.pause()
	var stream []byte
	for i := range 500 {
		h := quietly(to.Name, "M")
		h.Serial = uint32(i + 100)
		stream = append(stream, client.Marshal(h, nil)...)
	}
	must(t, from.SendRaw(stream))
	resume()
	for range 500 {
		next(t, to)
	}
	after := b.stats()
	if reads, sends := after.Reads-before.Reads, after.Sends-before.Sends; reads > 10 || sends > 10 {
		t.Errorf("500 messages took %d reads and %d sends", reads, sends)
	}
}

// Who asks for long answers has had its share with one of them.
func TestLongAnswersEndAShare(t *testing.T) {
	b := start(t, allowAll)
	rules, greedy := b.dial(), b.dial()
	for i := range 500 {
		must(t, rules.AddMatch(fmt.Sprintf("member='M%d',arg0='%s'", i, strings.Repeat("x", 900))))
	}
	const calls = 60
	var stream []byte
	for i := range calls {
		stream = append(stream, client.Marshal(wire.Header{Type: wire.MethodCall, Serial: uint32(i + 100), Path: wire.BusPath,
			Interface: "org.freedesktop.DBus.Debug.Stats", Member: "GetAllMatchRules", Destination: wire.BusName}, nil)...)
	}
	before := b.stats().Messages
	resume := b.pause()
	must(t, greedy.SendRaw(stream))
	answered := make(chan uint64)
	b.Post(func() {
		b.Post(func() { answered <- b.Stats().Messages - before }) // in the turn after that
	})
	resume()
	if n := <-answered; n > 3 {
		t.Errorf("%d long answers in two turns", n)
	}
	for range calls {
		next(t, greedy)
	}
}

// An answer that is longer than arrays may be is an error, which costs nobody
// the connection: not who asked, and not who watches.
func TestAnswersAreNoLongerThanMessagesMayBe(t *testing.T) {
	long := strings.Repeat("x", wire.MaxArray/2) // in place of very many
	names := []string{long, long}
	b := start(t, allowAll, func(o *busOptions) { o.Activation.Names = func() []string { return names } })
	patient := client.Options{Timeout: 10 * patience} // that much takes its time
	c, monitor := b.dial(patient), b.monitor([]string{"type='error'"}, patient)
	_, err := c.Driver("ListActivatableNames", "", nil)
	refused(t, err, "LimitsExceeded")
	m := next(t, monitor)
	if m.ErrorName != driverError+"LimitsExceeded" || m.Destination != c.Name {
		t.Errorf("the monitor got %s", describe(m))
	}
	nothing(t, c)
	b.Do(func() { names = nil })
	get(c.Driver("ListActivatableNames", "", nil))(t)
}
