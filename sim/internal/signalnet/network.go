// Package signalnet is the Signal side of the simulator: what signal-cli and
// the network behind it do, without any wire format. The surfaces (REST and
// JSON-RPC) subscribe to its frames and hand it what a bot sends.
//
// Guarantees: frames are delivered in order, one at a time, as by signal-cli's
// receive thread, so a subscriber that blocks holds up all of them; with the
// receive modes on-connection and manual, frames wait while nobody listens. No
// lock is held while a send takes its time. Memory is bounded: queued frames,
// waiting frames, sends and pictures are kept up to fixed counts and bytes, and
// what does not fit is refused or counted as dropped, never silently lost.
//
// It encrypts nothing, and knows devices, keys and profiles only as far as they
// decide a call.
//
// Files: spec.go, check.go, wire.go, envelope.go and frame.go (what is emitted),
// series.go, queue.go, pace.go and nap_*.go (when), deliver.go and emitted.go
// (the receive thread), roster.go, account.go, link.go and files.go (what
// signal-cli keeps), send.go and judge.go (sends), attempt.go (their order),
// receipt.go, sign.go and calls.go (what else is asked), failure.go, quirks.go,
// stats.go.
package signalnet

import (
	"log/slog"
	"math/rand/v2"
	"sync"

	"quartet/sim/internal/latency"
	"quartet/sim/internal/quirk"
	"quartet/sim/internal/ring"
	"quartet/sim/internal/stopwatch"
)

// Operations that take time, as named in the latency table.
const (
	SendText       = "send_text"
	SendAttachment = "send_attachment"
	Accounts       = "accounts"
	Groups         = "groups"
	Typing         = "typing"
	Reaction       = "reaction"
	Receipt        = "receipt"
	Manage         = "manage" // quitting, trusting, profiles, attachments, challenges, links
)

// Operations lists them all.
func Operations() []string {
	return []string{SendText, SendAttachment, Accounts, Groups, Typing, Reaction, Receipt, Manage}
}

// ReceiveMode says when signal-cli receives.
type ReceiveMode string

// The receive modes of signal-cli's daemon.
const (
	OnStart      ReceiveMode = "on-start"      // always; nobody listening means loss
	OnConnection ReceiveMode = "on-connection" // while a JSON-RPC connection exists
	Manual       ReceiveMode = "manual"        // while a JSON-RPC subscription exists
)

// Options configure a Network. All but the hooks are required.
type Options struct {
	Number  string  // the bot's account, E.164
	Groups  []Group // at the start; the first is the demo group
	Mode    ReceiveMode
	Seed    uint64 // of everything drawn at random but latencies
	Quirks  *quirk.Set
	Latency *latency.Table
	Log     *slog.Logger

	// Hooks, called inline and in order; they must not block. May be nil.
	OnFrame func(Frame)
	OnSent  func(Sent)
	OnSign  func(Sign)
}

// Network is the simulated Signal side. Make it with New; Run emits its frames.
type Network struct {
	Options        // immutable after New
	Counters       // atomics
	clock    clock // timestamps that identify messages
	inbox    inbox // frames to emit
	hub      hub   // who gets them
	sent     *ring.Ring[Sent]
	pictures *ring.Ring[Picture]
	emitted  *ring.Ring[Emitted]
	attempts *ring.Ring[Attempt]
	calls    *ring.Ring[Call]
	Watch    *stopwatch.Watch // from questions to answers
	turns    turns            // whether sends to a chat overlap
	roster   roster
	account  account
	links    links
	files    files
	acks     acks

	randMu sync.Mutex
	random *rand.Rand // guarded by randMu

	daemonMu   sync.Mutex
	daemonGone chan struct{} // guarded by daemonMu; closed when signal-cli's connection to REST drops
}

// Bounds of what is kept.
const (
	maxSent         = 50_000
	maxSentBytes    = 32 << 20
	maxPictures     = 200
	maxPictureBytes = 48 << 20
	maxNotes        = 50_000 // emitted frames, attempts, calls: of each
	maxNoteBytes    = 16 << 20
)

// New makes a network at rest.
func New(o Options) *Network {
	n := &Network{
		Options:    o,
		clock:      clock{last: map[string]int64{}},
		sent:       ring.New(maxSent, maxSentBytes, Sent.size),
		pictures:   ring.New(maxPictures, maxPictureBytes, func(p Picture) int64 { return int64(len(p.Bytes)) }),
		emitted:    ring.New(maxNotes, maxNoteBytes, Emitted.size),
		attempts:   ring.New(maxNotes, maxNoteBytes, Attempt.size),
		calls:      ring.New(maxNotes, maxNoteBytes, Call.size),
		Watch:      stopwatch.New(),
		random:     rand.New(rand.NewPCG(o.Seed, 1)),
		daemonGone: make(chan struct{}),
	}
	n.inbox.init()
	n.hub.init()
	n.turns.clear()
	n.clearState()
	n.clearCounters()
	return n
}

// Reset empties logs and counters, forgets frames that were not emitted yet, and
// has groups, keys, profile and links as at the start. Sockets stay open. Quirks
// and latencies are their owners' to reset.
func (n *Network) Reset() {
	n.inbox.cancelAll()
	n.hub.backlog.clear()
	n.sent.Clear()
	n.pictures.Clear()
	n.emitted.Clear()
	n.attempts.Clear()
	n.calls.Clear()
	n.Watch.Clear()
	n.turns.clear()
	n.clearState()
	n.clearCounters()
}

// clearState makes what signal-cli keeps as it was at the start.
func (n *Network) clearState() {
	n.roster.set(n.Groups)
	n.account.clear()
	n.links.clear()
	n.files.clear()
}

// HasAccount says whether number is registered here.
func (n *Network) HasAccount(number string) bool {
	return number == n.Number && !n.Quirks.On("account_missing")
}

// chance draws a number from 0 to 1.
func (n *Network) chance() float64 {
	n.randMu.Lock()
	defer n.randMu.Unlock()
	return n.random.Float64()
}
