// Package chaos_test lets clients do to busd what they do on bad days, all at
// once, and holds the bus to a model of what each of them must see.
//
//	chaos_test.go  the rounds, and what must hold when everybody has gone
//	model_test.go  what must hold meanwhile: calls and their replies, order
//	pairs_test.go  callers and servers, publishers and subscribers
//	abuse_test.go  stalled readers, slow writers, deaths amid messages, storms of connections
//	manage_test.go reloads, programs that fail to start, stopped processes
//	scarce_test.go a bus that may open no more files
//
// A round is 20 s, and QUARTET_SOAK=1 makes it ten of a minute with 100,000
// connections among them.
package chaos_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quartet/services/busd/internal/buses"
	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(puppetVariable); address != "" {
		os.Exit(puppet(address))
	}
	os.Exit(buses.Main(m))
}

const (
	// settled is how long the bus may take to notice that all have gone.
	settled = 15 * time.Second

	// memory is what the bus may have in memory at any time of a round.
	memory = 96 << 20

	// sendTimeout is how long the bus lets clients leave messages unread.
	sendTimeout = time.Second
)

// config has time limits that a test can wait for. At %s are the services.
const config = `<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <servicedir>%s</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
  <limit name="auth_timeout">2000</limit>
  <limit name="pending_fd_timeout">1000</limit>
  <limit name="service_start_timeout">1500</limit>
  <limit name="reply_timeout">4000</limit>
  <limit name="max_outgoing_bytes">16000000</limit>
  <limit name="max_completed_connections">5000</limit>
  <limit name="max_connections_per_user">5000</limit>
  <limit name="max_match_rules_per_connection">%d</limit>
</busconfig>
`

// A chaos is a bus, and everybody who does something to it.
type chaos struct {
	t       *testing.T
	bus     *buses.Bus
	dir     string // of services
	control *client.Conn
	files   int // that the bus has open when nobody is there
	counts  counts
}

// counts are what has happened, to show that it did.
type counts struct {
	calls, replies, lost, signals, stalled, slow, deaths, connects, reloads, refused, activations, stopped atomic.Int64
}

func (c *counts) String() string {
	return fmt.Sprintf("calls %d replies %d lost %d, signals %d, stalled %d, slow %d, deaths %d, connects %d, reloads %d (refused %d), activations %d, stopped %d",
		c.calls.Load(), c.replies.Load(), c.lost.Load(), c.signals.Load(), c.stalled.Load(), c.slow.Load(), c.deaths.Load(), c.connects.Load(),
		c.reloads.Load(), c.refused.Load(), c.activations.Load(), c.stopped.Load())
}

func start(t *testing.T) *chaos {
	c := &chaos{t: t, dir: t.TempDir()}
	writeServices(t, c.dir)
	c.bus = buses.ForTest(t, buses.Busd, buses.Options{Config: fmt.Sprintf(config, c.dir, 512), Env: []string{"BUSD_SEND_TIMEOUT=" + sendTimeout.String()}})
	c.control = c.dial()
	// What the bus opens when it first needs it is no leak.
	c.reload()
	c.activate(services[0])
	for c.left() != "" {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // a file that was read is closed
	files, err := c.bus.Files()
	if err != nil {
		t.Fatal(err)
	}
	c.files = files
	return c
}

// dial connects, or ends the test.
func (c *chaos) dial() *client.Conn {
	conn, err := client.Dial(c.bus.Address, client.Options{FDs: true})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	return conn
}

// fail says that something does not hold, from any goroutine.
func (c *chaos) fail(format string, args ...any) { c.t.Errorf(format, args...) }

func TestInChaosNobodyLosesAnythingAndNothingIsLeft(t *testing.T) {
	rounds, length, connections := 1, 20*time.Second, 3_000
	if os.Getenv("QUARTET_SOAK") != "" {
		rounds, length, connections = 10, time.Minute, 100_000/10
	}
	c := start(t)
	for round := range rounds {
		c.round(length, connections)
		c.idle()
		t.Logf("round %d: %v", round, &c.counts)
		if t.Failed() {
			t.Fatalf("what the bus has logged last:\n%s", tail(c.bus.Log(), 40))
		}
	}
}

// round lets everybody do their worst for a while.
func (c *chaos) round(length time.Duration, connections int) {
	ctx, cancel := context.WithTimeout(c.t.Context(), length)
	defer cancel()
	if err := c.bus.ForgetPeak(); err != nil {
		c.t.Log(err) // then the peak is that of all rounds
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() { c.serve(ctx, i) })
		all.Go(func() { c.call(ctx, i) })
	}
	for i := range 2 {
		all.Go(func() { c.publish(ctx) })
		all.Go(func() { c.subscribe(ctx) })
		all.Go(func() { c.stall(ctx) })
		all.Go(func() { c.crawl(ctx) })
		all.Go(func() { c.die(ctx, uint64(i)) })
		all.Go(func() { c.connect(ctx, connections/2) })
	}
	all.Go(func() { c.reloads(ctx) })
	all.Go(func() { c.hangUps(ctx) })
	all.Go(func() { c.activations(ctx) })
	all.Go(func() { c.puppets(ctx) })
	all.Wait()
}

// left is what the bus has of others than the control connection.
func (c *chaos) left() (left string) {
	c.t.Helper()
	stats := c.stats()
	for _, want := range []struct {
		name string
		n    uint32
	}{{"ActiveConnections", 1}, {"IncompleteConnections", 0}, {"MatchRules", 0}, {"BusNames", 1}, {"PendingReplies", 0}, {"OutgoingBytes", 0}, {"OutgoingUnixFDs", 0}} {
		if got, has := stats[want.name]; !has || got != want.n {
			left += fmt.Sprintf(" %s %d", want.name, got)
		}
	}
	return left
}

// idle checks that the bus has forgotten everybody but the control connection.
func (c *chaos) idle() {
	c.t.Helper()
	left, files := "", 0
	for end := time.Now().Add(settled); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var err error
		if files, err = c.bus.Files(); err != nil {
			c.t.Fatal(err)
		}
		if left = c.left(); files != c.files {
			left += fmt.Sprintf(" files %d, not %d", files, c.files)
		}
		if left == "" {
			break
		}
	}
	if left != "" {
		c.t.Errorf("when all have gone there are left:%s", left)
	}
	m, err := c.bus.Memory()
	if err != nil {
		c.t.Fatal(err)
	}
	if m.Peak > memory {
		c.t.Errorf("the bus had %d bytes in memory", m.Peak)
	}
	c.t.Logf("memory %d MiB, at most %d MiB; files %d", m.Now>>20, m.Peak>>20, files)
}

// stats asks Debug.Stats.
func (c *chaos) stats() map[string]uint32 {
	c.t.Helper()
	reply, err := c.control.Call(wire.Header{Path: wire.BusPath, Interface: "org.freedesktop.DBus.Debug.Stats", Member: "GetStats", Destination: wire.BusName}, nil)
	if err != nil {
		c.t.Fatalf("the bus does not answer: %v\n%s", err, tail(c.bus.Log(), 40))
	}
	all := map[string]uint32{}
	d := reply.Values()
	for end := d.Array(8); d.More(end); {
		d.Struct()
		key := strings.Clone(d.String())
		if kind := d.Variant(); kind != "u" {
			d.Skip(kind)
			continue
		}
		all[key] = d.Uint32()
	}
	return all
}

func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// services are those that do not come. The first one's program does not exist.
var services = []struct{ name, exec, failure string }{
	{"com.example.NoProgram", "/nonexistent/program", "Spawn.ExecFailed"},
	{"com.example.Fails", "/bin/false", "Spawn.ChildExited"},
	{"com.example.Crashes", "/bin/sh -c 'kill -9 $$'", "Spawn.ChildSignaled"},
	{"com.example.Sleeps", "/bin/sleep 2", "TimedOut"},
}

func writeServices(t *testing.T, dir string) {
	for _, s := range services {
		text := fmt.Sprintf("[D-BUS Service]\nName=%s\nExec=%s\n", s.name, s.exec)
		if err := os.WriteFile(filepath.Join(dir, s.name+".service"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
