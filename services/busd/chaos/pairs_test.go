package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

const (
	iface = "com.example.Chaos"
	path  = "/com/example/Chaos"
)

func serverName(i int) string { return fmt.Sprintf("com.example.Chaos.S%d", i) }

func numbered(n int) client.Write { return func(e *wire.Encoder) { e.Uint32(uint32(n)) } }

// serve answers calls, but for some, until it leaves amid its work; then
// another one takes the name.
func (c *chaos) serve(ctx context.Context, i int) {
	for ctx.Err() == nil {
		conn, err := client.Dial(c.bus.Address, client.Options{FDs: true})
		if err != nil {
			c.fail("serve: %v", err)
			return
		}
		if _, err := conn.RequestName(serverName(i), 0); err != nil {
			c.fail("serve: %v", err)
		}
		c.answer(ctx, conn, 200+rand.IntN(2000))
		conn.Close()
	}
}

// answer answers that many calls, and checks that each caller's come in order.
func (c *chaos) answer(ctx context.Context, conn *client.Conn, count int) {
	conn.Timeout = 100 * time.Millisecond
	last := map[string]int{}
	for ctx.Err() == nil && count > 0 {
		m, err := conn.Next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			c.fail("serve: %v", err)
			return
		}
		m.CloseFDs() // of those who are about to die
		if m.Type != wire.MethodCall || m.Member != "Do" {
			continue
		}
		values := m.Values()
		number := int(values.Uint32())
		sender := strings.Clone(m.Sender)
		if number <= last[sender] {
			c.fail("call %d of %s comes behind call %d", number, sender, last[sender])
		}
		last[sender] = number
		count--
		if rand.IntN(2000) == 0 {
			continue // the caller hears from the bus, in time
		}
		conn.Timeout = client.DefaultTimeout
		if err := conn.Reply(m, "u", numbered(number)); err != nil {
			c.fail("serve: %v", err)
			return
		}
		conn.Timeout = 100 * time.Millisecond
	}
}

// inFlight is how many calls a caller has open at most.
const inFlight = 32

// call calls a server and any other, and waits in the end until every call has
// its answer.
func (c *chaos) call(ctx context.Context, i int) {
	conn, err := client.Dial(c.bus.Address, client.Options{})
	if err != nil {
		c.fail("call: %v", err)
		return
	}
	defer conn.Close()
	l := newLedger()
	for number := 1; ctx.Err() == nil; number++ {
		server := serverName(i)
		if number%7 == 0 {
			server = serverName(rand.IntN(4))
		}
		serial, err := conn.Send(wire.Header{Type: wire.MethodCall, Path: path, Interface: iface, Member: "Do", Destination: server, Signature: "u"}, numbered(number))
		if err != nil {
			c.fail("call: %v", err)
			return
		}
		l.asked(serial, server, number)
		c.counts.calls.Add(1)
		for len(l.open) >= inFlight {
			if !c.settle(conn, l) {
				return
			}
		}
	}
	for len(l.open) > 0 {
		if !c.settle(conn, l) {
			return
		}
	}
	more, err := conn.Settle()
	if err != nil || len(more) > 0 {
		c.fail("when all calls were answered there came %d messages more, %v", len(more), err)
	}
}

// settle takes an answer off the ledger.
func (c *chaos) settle(conn *client.Conn, l *ledger) bool {
	m, err := conn.Next()
	if err != nil {
		c.fail("%d calls are never answered: %v", len(l.open), err)
		return false
	}
	served, err := l.answered(m)
	if err != nil {
		c.fail("call: %v", err)
		return false
	}
	if served {
		c.counts.replies.Add(1)
	} else if m.Type == wire.ErrorReply {
		c.counts.lost.Add(1)
	}
	return true
}

// publish sends signals that are long enough to fill sockets.
func (c *chaos) publish(ctx context.Context) {
	conn, err := client.Dial(c.bus.Address, client.Options{})
	if err != nil {
		c.fail("publish: %v", err)
		return
	}
	defer conn.Close()
	ballast := strings.Repeat("x", 2000)
	for number := uint32(0); ctx.Err() == nil; number++ {
		err := conn.Signal(path, iface, "News", "us", func(e *wire.Encoder) {
			e.Uint32(number)
			e.String(ballast)
		})
		if err != nil {
			c.fail("publish: %v", err)
			return
		}
		if number%20 == 0 { // which everybody who reads can keep up with
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// subscribe checks that all signals come in order and none is missing.
func (c *chaos) subscribe(ctx context.Context) {
	conn, err := client.Dial(c.bus.Address, client.Options{})
	if err == nil {
		err = conn.AddMatch("type='signal',interface='" + iface + "'")
	}
	if err != nil {
		c.fail("subscribe: %v", err)
		return
	}
	defer conn.Close()
	o := newOrder()
	for ctx.Err() == nil {
		m, err := conn.Next()
		if err != nil {
			if ctx.Err() == nil {
				c.fail("subscribe: %v", err)
			}
			return
		}
		if m.Type != wire.Signal || m.Member != "News" {
			continue
		}
		values := m.Values()
		if err := o.next(strings.Clone(m.Sender), values.Uint32()); err != nil {
			c.fail("subscribe: %v", err)
			return
		}
		c.counts.signals.Add(1)
	}
}
