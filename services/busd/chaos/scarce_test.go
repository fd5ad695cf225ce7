package chaos_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// Bug reports bus1/dbus-broker#435 (a bus that ends when it has no file
// descriptors left) and CVE-2014-7824.
func TestABusWithSixtyFourFilesServesWhomItCanAndThenTheOthers(t *testing.T) {
	c := start(t)
	limit := unix.Rlimit{Cur: 64, Max: 64}
	if err := unix.Prlimit(c.bus.PID, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	rounds := 3
	if os.Getenv("QUARTET_SOAK") != "" {
		rounds = 30
	}
	for range rounds {
		c.crowd()
		c.idle()
	}
}

// crowd connects more clients than the bus can have, lets those that it has
// pass descriptors, which it cannot receive now, and goes away.
func (c *chaos) crowd() {
	const all = 120
	var mu sync.Mutex
	var in []*client.Conn
	var waiting sync.WaitGroup
	leave := make(chan struct{})
	for range all {
		waiting.Go(func() {
			conn, err := client.Dial(c.bus.Address, client.Options{FDs: true, Timeout: 20 * time.Second})
			if err != nil {
				c.fail("a client that waits for its turn: %v", err)
				return
			}
			mu.Lock()
			in = append(in, conn)
			mu.Unlock()
			<-leave
			conn.Close()
		})
	}
	served := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(in)
	}
	for end := time.Now().Add(settled); served() < 30 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := served(); n < 30 || n >= 64 {
		c.fail("the bus serves %d clients with 64 files", n)
	}
	mu.Lock()
	first := in[0]
	mu.Unlock()
	c.passTooMuch(first)
	if _, err := c.control.Driver("GetId", "", nil); err != nil {
		c.fail("a bus without free files does not answer: %v", err)
	}
	close(leave)
	waiting.Wait()
}

// passTooMuch sends descriptors that the bus may have no room for: it may hang
// up, and may not end.
func (c *chaos) passTooMuch(conn *client.Conn) {
	file, err := os.Open("/dev/null")
	if err != nil {
		c.fail("%v", err)
		return
	}
	defer file.Close()
	fds := make([]int, 16)
	for i := range fds {
		fds[i] = int(file.Fd())
	}
	h := wire.Header{Type: wire.Signal, Path: path, Interface: iface, Member: "Take", Destination: conn.Name}
	for range 4 {
		if _, err := conn.Send(h, nil, fds...); err != nil {
			return // the bus has hung up
		}
	}
}
