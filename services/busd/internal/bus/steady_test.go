package bus_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"quartet/services/busd/internal/address"
	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/busconf"
	"quartet/services/busd/internal/listen"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/sasl"
	"quartet/services/busd/internal/wire"
)

// A steady is a client that allocates nothing: it sends bytes that were made
// before, and counts what comes.
type steady struct {
	net.Conn
	buf  []byte
	name string
}

func dialSteady(t testing.TB, path string) *steady {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s := &steady{Conn: c, buf: make([]byte, 1<<20)}
	hello := marshal(wire.Header{Type: wire.MethodCall, Serial: 1, Path: wire.BusPath, Interface: wire.BusName, Member: "Hello", Destination: wire.BusName}, nil)
	s.send(t, append([]byte("\x00AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"), hello...))
	var got []byte
	for len(got) < 300 { // the answers of SASL, of Hello, and NameAcquired
		n, err := s.Read(s.buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.buf[:n]...)
	}
	var m wire.Message
	at := indexAfter(got, "OK 0123456789abcdef0123456789abcdef\r\n")
	header, _, err := wire.Frame(got[at:])
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Parse(got[at : at+header]); err != nil {
		t.Fatal(err)
	}
	s.name = m.Destination
	return s
}

func indexAfter(b []byte, s string) int {
	for i := 0; i+len(s) <= len(b); i++ {
		if string(b[i:i+len(s)]) == s {
			return i + len(s)
		}
	}
	return len(b)
}

func (s *steady) send(t testing.TB, b []byte) {
	if _, err := s.Write(b); err != nil {
		t.Fatal(err)
	}
}

// take reads n bytes.
func (s *steady) take(t testing.TB, n int) {
	for n > 0 {
		got, err := s.Read(s.buf[:min(n, len(s.buf))])
		if err != nil {
			t.Fatal(err)
		}
		n -= got
	}
}

func marshal(h wire.Header, body func(*wire.Encoder)) []byte {
	var e wire.Encoder
	e.Begin(h)
	if body != nil {
		body(&e)
	}
	e.End()
	return e.Buf
}

func steadyBus(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bus")
	list, err := address.Parse("unix:path=" + path)
	if err != nil {
		t.Fatal(err)
	}
	listeners, err := listen.OpenFirst(t.Context(), list, listen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rules []policy.Rule
	for _, attrs := range [][]policy.Attr{{{Name: "send_destination", Value: "*"}, {Name: "eavesdrop", Value: "true"}}, {{Name: "eavesdrop", Value: "true"}}, {{Name: "own", Value: "*"}}} {
		r, err := policy.ParseRule(true, attrs, "test", 1)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	set, _ := policy.Compile([]policy.Section{{Rules: rules}}, policy.Resolver{})
	b, err := bus.New(listeners, bus.Settings{Limits: busconf.DefaultLimits(), Policy: set, Mechanisms: sasl.Mechanisms{External: true}}, bus.Options{
		GUID: "0123456789abcdef0123456789abcdef", BatchMessages: 16, BatchBytes: 16 << 10, SendTimeout: 30 * time.Second,
		Quota: bus.Quota{Bytes: 1 << 30, FDs: 1000}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return path
}

// Calls, replies and broadcasts, forwarded for long, allocate nothing.
func TestForwardingAllocatesNothing(t *testing.T) {
	path := steadyBus(t)
	caller, callee := dialSteady(t, path), dialSteady(t, path)
	call := marshal(wire.Header{Type: wire.MethodCall, Serial: 7, Path: "/a", Interface: "a.b", Member: "C", Destination: callee.name, Signature: "s"}, func(e *wire.Encoder) { e.String("question") })
	reply := marshal(wire.Header{Type: wire.MethodReturn, Serial: 7, ReplySerial: 7, Destination: caller.name}, nil)
	signal := marshal(wire.Header{Type: wire.Signal, Serial: 7, Path: "/a", Interface: "a.b", Member: "S"}, nil)
	big := marshal(wire.Header{Type: wire.MethodCall, Flags: wire.NoReplyExpected, Serial: 8, Path: "/a", Interface: "a.b", Member: "C", Destination: callee.name, Signature: "s"}, func(e *wire.Encoder) { e.String(bigText) })
	match := marshal(wire.Header{Type: wire.MethodCall, Flags: wire.NoReplyExpected, Serial: 9, Path: wire.BusPath, Interface: wire.BusName, Member: "AddMatch", Destination: wire.BusName, Signature: "s"}, func(e *wire.Encoder) { e.String("type='signal',interface='a.b'") })
	callee.send(t, match)

	// A forwarded message has its sender's name in its header besides.
	sender := len(marshal(wire.Header{Type: wire.Signal, Serial: 7, Path: "/a", Interface: "a.b", Member: "S", Sender: caller.name}, nil)) - len(signal)
	forwarded := func(b []byte) int { return len(b) + sender }
	round := func() {
		caller.send(t, call)
		callee.take(t, forwarded(call))
		callee.send(t, reply)
		caller.take(t, forwarded(reply))
		caller.send(t, signal)
		callee.take(t, forwarded(signal))
		go caller.Write(big)
		callee.take(t, forwarded(big))
	}
	for range 200 {
		round()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 500
	for range rounds {
		round()
	}
	runtime.ReadMemStats(&after)
	// The goroutine of each round is the test's own.
	if per := float64(after.Mallocs-before.Mallocs) / rounds; per > 4 {
		t.Errorf("%.1f allocations a round of four messages, want none of the bus", per)
	}
}

var bigText = func() string {
	b := make([]byte, 300<<10)
	for i := range b {
		b[i] = 'x'
	}
	return string(b)
}()
