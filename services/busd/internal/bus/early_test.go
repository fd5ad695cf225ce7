package bus

import (
	"io"
	"log/slog"
	"os"
	"testing"

	"quartet/services/busd/internal/busconf"
	"quartet/services/busd/internal/listen"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// A peer that has not said Hello and ends because its turn was sent early is
// not heard any more: what it had sent would come from nobody.
func TestPeerThatEndsInAnEarlyFlushIsNotHeard(t *testing.T) {
	set, _ := policy.Compile(nil, policy.Resolver{})
	b, err := New(nil, Settings{Policy: set, Limits: busconf.Limits{MaxMessageSize: 1 << 20}}, Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer b.end()
	noSocket, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer noSocket.Close()
	p := &Peer{fd: int(noSocket.Fd()), state: nameless, via: &listener{Listener: &listen.Listener{}}, user: b.join(1, true)}
	b.sending.arena = b.sending.arena[:arenaSize]
	b.queue(p, packet{n: 1, payer: p.user})
	var e wire.Encoder
	e.Begin(wire.Header{Type: wire.Signal, Serial: 1, Path: "/a", Interface: "a.b", Member: "C"})
	e.End()
	b.handle(p, e.Buf, true)
	if p.state != gone || b.stats.Messages != 0 {
		t.Errorf("state %d, %d messages handled", p.state, b.stats.Messages)
	}
	b.peers.leaving = nil // it was never there
}
