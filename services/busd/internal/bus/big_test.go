package bus_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

const wide = `<limit name="max_message_size">134217728</limit><limit name="max_outgoing_bytes">1000000000</limit><limit name="max_incoming_bytes">1000000000</limit>`

// noise is a body that cannot be put together wrongly unnoticed.
func noise(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, n)
	for i := 0; i < n; i += 7 {
		b[i] = 'a' + byte(r.Uint32()%26)
	}
	for i := range b {
		if b[i] == 0 {
			b[i] = '.'
		}
	}
	return string(b)
}

func sum(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

func first(m *client.Message) string {
	d := m.Values()
	return d.String()
}

// Bodies of all sizes arrive whole at several receivers, around the size from
// which the bus does not copy them and beyond what goes into a socket.
func TestBodiesOfAllSizes(t *testing.T) {
	b := start(t, allowAll+wide)
	from := b.dial()
	receivers := []*client.Conn{b.dial(), b.dial(), b.dial()}
	for _, c := range receivers {
		must(t, c.AddMatch("interface='com.example.I'"))
	}
	for _, size := range []int{0, 1, 1023, 16 << 10, 32<<10 - 200, 32<<10 - 64, 32 << 10, 32<<10 + 1, 100 << 10, 255 << 10, 256 << 10, 257 << 10, 1 << 20, 8<<20 + 3} {
		body := noise(uint64(size), size)
		ended := make(chan error, 1)
		go func() {
			err := from.Signal("/a", "com.example.I", "S", "s", word(body))
			if err == nil {
				err = from.Signal("/a", "com.example.I", "T", "s", word("small"))
			}
			ended <- err
		}()
		for _, c := range receivers {
			if m := next(t, c); m.Member != "S" || sum(first(m)) != sum(body) || m.Sender != from.Name {
				t.Fatalf("%d bytes: got %s", size, m.Member)
			}
			if m := next(t, c); m.Member != "T" || first(m) != "small" {
				t.Fatalf("%d bytes: then got %s", size, m.Member)
			}
		}
		must(t, <-ended)
	}
}

// A receiver that reads nothing of 64 MiB holds up neither the others nor the
// sender.
func TestSixtyFourMebibytesToSeveral(t *testing.T) {
	b := start(t, allowAll+wide)
	from := b.dial()
	receivers := []*client.Conn{b.dial(), b.dial()}
	stalled := b.dial()
	for _, c := range append(receivers, stalled) {
		must(t, c.AddMatch("interface='com.example.I'"))
	}
	size := 64 << 20
	if raceEnabled {
		size /= 8
	}
	body := noise(64, size)
	ended := make(chan error, 3)
	go func() { ended <- from.Signal("/a", "com.example.I", "S", "s", word(body)) }()
	for _, c := range receivers {
		c.Timeout = 3 * patience
		go func() {
			m, err := c.Next()
			if err == nil && (len(first(m)) != len(body) || sum(first(m)) != sum(body)) {
				err = errors.New("it was damaged")
			}
			ended <- err
		}()
	}
	for range 3 {
		must(t, <-ended)
	}
	if waiting := b.stats().Now.WaitingBytes; waiting == 0 || waiting > int64(size)+1000 {
		t.Errorf("%d bytes wait for the stalled one", waiting)
	}
	for _, c := range append(receivers, from) {
		nothing(t, c)
	}
}

// Big messages of several senders to one receiver do not get mixed up, with
// descriptors among them, though it reads late.
func TestBigMessagesOfSeveralSenders(t *testing.T) {
	b := start(t, allowAll+wide)
	to := b.dial(client.Options{FDs: true})
	const senders, each = 4, 12
	ended := make(chan error, senders)
	for i := range senders {
		c := b.dial(client.Options{FDs: true})
		fd := marked(t, i+1)
		go func() {
			var err error
			for n := 0; n < each && err == nil; n++ {
				h := quietly(to.Name, "M")
				h.Signature = "us"
				body := noise(uint64(i*100+n), n%4*70000)
				var fds []int
				if n%3 == 1 {
					fds = []int{fd}
				}
				_, err = c.Send(h, func(e *wire.Encoder) { e.Uint32(uint32(i*100 + n)); e.String(body) }, fds...)
			}
			ended <- err
		}()
	}
	seen := map[string]uint32{}
	for range senders * each {
		m := next(t, to)
		d := m.Values()
		id, body := d.Uint32(), d.String()
		i, n := id/100, id%100
		if n != seen[m.Sender] || sum(body) != sum(noise(uint64(id), int(n)%4*70000)) {
			t.Fatalf("message %d of sender %d is not what was sent", n, i)
		}
		seen[m.Sender]++
		if n%3 == 1 {
			checkFDs(t, m, int(i)+1)
		} else {
			checkFDs(t, m)
		}
	}
	for range senders {
		must(t, <-ended)
	}
}

// Half a message says nothing to anybody, however long, and its sender may
// leave in the middle.
func TestHalfAMessageIsNoMessage(t *testing.T) {
	b := start(t, allowAll+wide)
	to := b.dial()
	for _, size := range []int{10, 5000, 40000, 1 << 20} {
		h := quietly(to.Name, "M")
		h.Serial, h.Signature = 7, "s"
		data := client.Marshal(h, word(noise(1, size)))
		for _, part := range []int{1, 15, 16, 17, 60, len(data) / 2, len(data) - 1} {
			if part >= len(data) {
				continue
			}
			c := b.dial()
			must(t, c.SendRaw(data[:part]))
			nothing(t, to)
			c.Close()
		}
		c := b.dial()
		must(t, c.SendRaw(data[:len(data)/2]))
		nothing(t, to)
		must(t, c.SendRaw(data[len(data)/2:]))
		if m := next(t, to); m.Sender != c.Name {
			t.Errorf("got %s", describe(m))
		}
		c.Close()
	}
}

// Any cut of the stream gives the same messages.
func TestStreamInPiecesOfAllSizes(t *testing.T) {
	b := start(t, allowAll+wide)
	from, to := b.dial(), b.dial()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		var stream []byte
		var want []uint64
		for i := range 40 {
			h := quietly(to.Name, fmt.Sprint("M", i))
			h.Serial, h.Signature = uint32(i+1000), "s"
			size := r.IntN(200)
			if r.IntN(8) == 0 {
				size = 30000 + r.IntN(10000)
			}
			body := noise(uint64(i), size)
			want = append(want, sum(body))
			stream = append(stream, client.Marshal(h, word(body))...)
		}
		ended := make(chan error, 1)
		go func() {
			var err error
			for len(stream) > 0 && err == nil {
				n := min(len(stream), 1+r.IntN(1<<(1+r.IntN(16))))
				err = from.SendRaw(stream[:n])
				stream = stream[n:]
			}
			ended <- err
		}()
		for i, want := range want {
			if m := next(t, to); m.Member != fmt.Sprint("M", i) || sum(first(m)) != want {
				t.Fatalf("seed %d: message %d is %s", seed, i, m.Member)
			}
		}
		must(t, <-ended)
	}
}

// CVE-2011-2200 and CVE-2022-42012: the byte order of a message stays as it
// is, with descriptors too, and the bus itself reads either.
func TestBigEndianClients(t *testing.T) {
	b := start(t, allowAll)
	from, to := b.dial(client.Options{FDs: true}), b.dial(client.Options{FDs: true})
	must(t, to.AddMatch("interface='com.example.I',arg0='text'"))
	data := swapped(wire.MethodCall, 1, to.Name, "M", 0x01020304, "text")
	must(t, from.SendRaw(data, marked(t, 9)))
	m := next(t, to)
	d := m.Values()
	if s, n := d.String(), d.Uint32(); !m.BigEndian || m.Sender != from.Name || s != "text" || n != 0x01020304 || m.Member != "M" {
		t.Errorf("got %s with %q and %x", describe(m), s, n)
	}
	checkFDs(t, m, 9)
	must(t, to.Reply(m, "", nil))
	if m := next(t, from); m.ReplySerial != 0x0a0b0c0d {
		t.Errorf("the reply is to %x", m.ReplySerial)
	}
	must(t, from.SendRaw(swapped(wire.Signal, 0, "", "S", 5, "text")))
	if m := next(t, to); m.Member != "S" || !m.BigEndian {
		t.Errorf("got %s", describe(m))
	}
	must(t, from.SendRaw(swapped(wire.Signal, 0, "", "S", 5, "other")))
	settle(t, from)
	nothing(t, to)
	must(t, from.SendRaw(swapped(wire.MethodCall, 0, wire.BusName, "RequestName", 4, "com.example.Big")))
	for {
		m := next(t, from)
		if m.Type == wire.Signal {
			continue
		}
		if d := m.Values(); m.Type != wire.MethodReturn || d.Uint32() != 1 {
			t.Errorf("got %s", describe(m))
		}
		break
	}
}

// swapped is a big-endian message with the arguments text and number.
func swapped(kind wire.Type, fds uint32, to, member string, number uint32, text string) []byte {
	var b []byte
	put := func(n uint32) { b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n)) }
	pad := func(n int) { b = append(b, strings.Repeat("\x00", (n-len(b)%n)%n)...) }
	str := func(s string) { put(uint32(len(s))); b = append(append(b, s...), 0) }
	b = append(b, 'B', byte(kind), 0, 1)
	put(0)
	put(0x0a0b0c0d)
	put(0)
	field := func(code byte, signature, value string) {
		pad(8)
		b = append(b, code, 1, signature[0], 0)
		str(value)
	}
	field(1, "o", "/a")
	if to != wire.BusName {
		field(2, "s", "com.example.I")
	}
	field(3, "s", member)
	if to != "" {
		field(6, "s", to)
	}
	pad(8)
	b = append(b, 8, 1, 'g', 0, 2, 's', 'u', 0)
	if fds > 0 {
		pad(8)
		b = append(b, 9, 1, 'u', 0)
		put(fds)
	}
	end := len(b)
	pad(8)
	body := len(b)
	str(text)
	pad(4)
	put(number)
	set := func(at, n int) { b[at], b[at+1], b[at+2], b[at+3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n) }
	set(4, len(b)-body)
	set(12, end-16)
	return b
}
