package chaos_test

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// stall subscribes and reads nothing, until the bus has had enough of it.
func (c *chaos) stall(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := client.Dial(c.bus.Address, client.Options{})
		if err == nil {
			err = conn.AddMatch("type='signal',interface='" + iface + "'")
		}
		if err != nil {
			c.fail("stall: %v", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(3 * sendTimeout):
			// What lies in the socket can still be read, and then it ends.
			if err := conn.AwaitEnd(); err != nil {
				c.fail("a client that read nothing for %v is not disconnected: %v", 3*sendTimeout, err)
			}
			c.counts.stalled.Add(1)
		}
		conn.Close()
	}
}

// handshake is all that a client sends until it has a name.
func handshake() []byte {
	auth := "\x00AUTH EXTERNAL " + hex.EncodeToString([]byte(strconv.Itoa(os.Getuid()))) + "\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"
	hello := wire.Header{Type: wire.MethodCall, Serial: 1, Path: wire.BusPath, Interface: wire.BusName, Member: "Hello", Destination: wire.BusName}
	return append([]byte(auth), client.Marshal(hello, nil)...)
}

// crawl sends everything byte by byte, and is served all the same.
func (c *chaos) crawl(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := client.Connect(c.bus.Address, 0)
		if err != nil {
			c.fail("crawl: %v", err)
			return
		}
		for i, b := range handshake() {
			if err := conn.SendRaw([]byte{b}); err != nil {
				c.fail("crawl: byte %d: %v", i, err)
				break
			}
		}
		for _, want := range []string{"OK ", "AGREE_UNIX_FD"} {
			if line, err := conn.ReadLine(); err != nil || len(line) < len(want) || line[:len(want)] != want {
				c.fail("crawl: the bus answered %q, %v", line, err)
			}
		}
		m, err := conn.Next()
		if err != nil || m.Type != wire.MethodReturn || m.ReplySerial != 1 {
			c.fail("crawl: Hello is not answered: %v", err)
		}
		c.counts.slow.Add(1)
		conn.Close()
	}
}

// die sends messages with descriptors, in part or to whom it may concern, and
// leaves in the middle.
func (c *chaos) die(ctx context.Context, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	file, err := os.Open("/dev/null")
	if err != nil {
		c.fail("die: %v", err)
		return
	}
	defer file.Close()
	fd := int(file.Fd())
	for ctx.Err() == nil {
		conn, err := client.Dial(c.bus.Address, client.Options{FDs: true})
		if err != nil {
			c.fail("die: %v", err)
			return
		}
		h := wire.Header{Type: wire.MethodCall, Serial: conn.NextSerial(), Path: path, Interface: iface, Member: "Take", UnixFDs: 3, Signature: "s",
			Destination: []string{conn.Name, serverName(random.IntN(4)), "com.example.Sleeps"}[random.IntN(3)]}
		whole := client.Marshal(h, func(e *wire.Encoder) { e.String("with three descriptors") })
		cut := len(whole)
		if random.IntN(3) > 0 {
			cut = 1 + random.IntN(len(whole)-1)
		}
		if err := conn.SendRaw(whole[:cut], fd, fd, fd); err != nil {
			c.fail("die: %v", err)
		}
		if random.IntN(8) == 0 {
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		}
		conn.Close()
		c.counts.deaths.Add(1)
		time.Sleep(time.Millisecond)
	}
}

// connect connects so many times within the round, now and then without going
// through with it.
func (c *chaos) connect(ctx context.Context, count int) {
	deadline, _ := ctx.Deadline()
	pause := time.Until(deadline) / time.Duration(count) * 9 / 10
	begin := time.Now()
	for i := 0; i < count && ctx.Err() == nil; i++ {
		if ahead := time.Duration(i)*pause - time.Since(begin); ahead > 0 {
			time.Sleep(ahead)
		}
		if i%10 == 0 {
			c.connectHalf(i)
			continue
		}
		conn, err := client.Dial(c.bus.Address, client.Options{})
		if err != nil {
			c.fail("connect: %v", err)
			return
		}
		if i%3 == 0 {
			if err := conn.AddMatch("member='Never'"); err != nil {
				c.fail("connect: %v", err)
			}
		}
		conn.Close()
		c.counts.connects.Add(1)
	}
}

// connectHalf leaves somewhere in the handshake.
func (c *chaos) connectHalf(i int) {
	conn, err := client.Connect(c.bus.Address, 0)
	if err != nil {
		c.fail("connect: %v", err)
		return
	}
	all := handshake()
	if err := conn.SendRaw(all[:i%len(all)]); err != nil {
		c.fail("connect: %v", err)
	}
	conn.Close()
	c.counts.connects.Add(1)
}
