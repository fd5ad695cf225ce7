package bus_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// Report 28 (dbus-broker#400): after a hundred thousand connections and calls
// everything is as it was. The connections say all they have to say in one
// write, and most leave without a word.
func TestHundredThousandConnectionsAndCallsLeaveNothing(t *testing.T) {
	n := 100_000
	if testing.Short() || raceEnabled {
		n = 5000
	}
	b := start(t, allowAll)
	to := b.dial()
	read := drain(to, "Last")
	const workers = 8
	ended := make(chan error, workers)
	for w := range workers {
		go func() {
			r := rand.New(rand.NewPCG(uint64(w), 4))
			for range n / workers {
				if err := visit(b.address, to.Name, r); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range workers {
		must(t, <-ended)
	}
	// The last of them may not have been accepted yet.
	if !eventually(func() bool { return b.stats().Now == bus.Now{Connections: 1} }) {
		t.Errorf("%+v", b.stats().Now)
	}
	get(b.dial().Send(quietly(to.Name, "Last"), nil))(t)
	read()
}

// visit is the life of a connection.
func visit(address, to string, r *rand.Rand) error {
	c, err := client.Connect(address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	stream := append([]byte("\x00AUTH EXTERNAL "+hexUID(uid)+"\r\nBEGIN\r\n"), client.Marshal(hello(1), nil)...)
	driver := func(serial uint32, member, signature string, body client.Write) {
		h := wire.Header{Type: wire.MethodCall, Serial: serial, Path: wire.BusPath, Interface: wire.BusName, Member: member, Destination: wire.BusName, Signature: signature}
		stream = append(stream, client.Marshal(h, body)...)
	}
	driver(2, "AddMatch", "s", word(fmt.Sprintf("type='signal',arg0='%d'", r.IntN(1000))))
	driver(3, "RequestName", "su", func(e *wire.Encoder) { e.String(fmt.Sprintf("com.example.N%d", r.IntN(10))); e.Uint32(r.Uint32N(8)) })
	h := call(to, "M")
	h.Serial = 4
	stream = append(stream, client.Marshal(h, nil)...)
	driver(5, "GetId", "", nil)
	if r.IntN(4) > 0 { // it hangs up somewhere in the middle
		_ = c.SendRaw(stream[:r.IntN(len(stream))])
		return nil
	}
	if err := c.SendRaw(stream); err != nil {
		return err
	}
	if _, err := c.ReadLine(); err != nil {
		return err
	}
	for {
		m, err := c.Next()
		if err != nil {
			return fmt.Errorf("no answer: %w", err)
		}
		if m.ReplySerial == 5 {
			return nil
		}
	}
}

// What random clients do, well or not, leaves the bus alive and nothing behind.
func TestChaos(t *testing.T) {
	b := start(t, allowAll+`<limit name="max_outgoing_bytes">200000</limit>`, sendTimeout(patience/40))
	witness := b.dial()
	const workers = 6
	ended := make(chan error, workers)
	for w := range workers {
		go func() {
			r := rand.New(rand.NewPCG(uint64(w), 5))
			for range 60 {
				c, err := client.Dial(b.address, client.Options{Timeout: patience, FDs: r.IntN(2) == 0})
				if err != nil {
					ended <- err
					return
				}
				misbehave(c, r)
				c.Close()
			}
			ended <- nil
		}()
	}
	for range workers {
		must(t, <-ended)
	}
	settle(t, witness)
}

func misbehave(c *client.Conn, r *rand.Rand) {
	for range 30 {
		var err error
		other := fmt.Sprintf(":1.%d", 1+r.IntN(200))
		switch r.IntN(9) {
		case 0:
			_, err = c.RequestName(fmt.Sprintf("com.example.N%d", r.IntN(5)), r.Uint32N(8))
		case 1:
			_, err = c.ReleaseName(fmt.Sprintf("com.example.N%d", r.IntN(5)))
		case 2:
			err = c.AddMatch([]string{"", "type='signal'", "eavesdrop='true'", "sender='com.example.N1'", "nonsense"}[r.IntN(5)])
		case 3:
			h := call(other, "M")
			h.Signature = "s"
			_, err = c.Send(h, word(noise(1, r.IntN(40000))))
		case 4:
			_, err = c.Send(call(other, "F"), nil, 0, 1)
		case 5:
			err = c.Signal("/a", "com.example.I", "S", "s", word(noise(2, r.IntN(3000))))
		case 6:
			_, err = c.Send(wire.Header{Type: wire.MethodReturn, Destination: other, ReplySerial: 1 + r.Uint32N(9)}, nil)
		case 7:
			garbage := make([]byte, r.IntN(100))
			for i := range garbage {
				garbage[i] = byte(r.Uint32())
			}
			if r.IntN(10) == 0 {
				err = c.SendRaw(garbage)
			}
		case 8:
			for _, m := range c.Waiting() {
				m.CloseFDs()
			}
		}
		if _, ok := err.(*client.Error); err != nil && !ok {
			return
		}
	}
}
