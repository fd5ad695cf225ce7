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
// It encrypts nothing, knows nothing of devices and profiles, and gives nobody's
// receipts but the bot's.
//
// Files: frame.go (envelopes), queue.go and pace.go (emission), deliver.go
// (the receive thread), send.go, sign.go, failure.go, quirks.go, stats.go.
package signalnet

import (
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"math/rand/v2"
	"sync"

	"quartet/sim/internal/latency"
	"quartet/sim/internal/quirk"
	"quartet/sim/internal/ring"
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
)

// Operations lists them all.
func Operations() []string {
	return []string{SendText, SendAttachment, Accounts, Groups, Typing, Reaction, Receipt}
}

// Group is a Signal group.
type Group struct {
	ID   string // internal id: base64 of 32 bytes
	Name string
}

// PublicID is the group's id in REST paths and recipients.
func (g Group) PublicID() string { return PublicID(g.ID) }

// PublicID turns an internal group id into the one REST uses.
func PublicID(internal string) string {
	return "group." + base64.StdEncoding.EncodeToString([]byte(internal))
}

// DemoGroup returns the group of the chat page: the one with bytes 0 to 31.
func DemoGroup(name string) Group {
	id := make([]byte, 32)
	for i := range id {
		id[i] = byte(i)
	}
	return Group{ID: base64.StdEncoding.EncodeToString(id), Name: name}
}

// NamedGroup returns a group whose id follows from its name.
func NamedGroup(name string) Group {
	id := sha256.Sum256([]byte("quartet simulated group " + name))
	return Group{ID: base64.StdEncoding.EncodeToString(id[:]), Name: name}
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
	Groups  []Group // the first is the demo group
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
)

// New makes a network at rest.
func New(o Options) *Network {
	n := &Network{
		Options:    o,
		clock:      clock{last: map[string]int64{}},
		sent:       ring.New(maxSent, maxSentBytes, Sent.size),
		pictures:   ring.New(maxPictures, maxPictureBytes, func(p Picture) int64 { return int64(len(p.Bytes)) }),
		random:     rand.New(rand.NewPCG(o.Seed, 1)),
		daemonGone: make(chan struct{}),
	}
	n.inbox.init()
	n.hub.init()
	n.clearCounters()
	return n
}

// Reset empties logs and counters and forgets frames that were not emitted
// yet. Sockets stay open. Quirks and latencies are their owners' to reset.
func (n *Network) Reset() {
	n.inbox.cancelAll()
	n.hub.backlog.clear()
	n.sent.Clear()
	n.pictures.Clear()
	n.clearCounters()
}

// GroupByID returns the group with this internal id.
func (n *Network) GroupByID(id string) (Group, bool) {
	for _, g := range n.Groups {
		if g.ID == id {
			return g, true
		}
	}
	return Group{}, false
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
