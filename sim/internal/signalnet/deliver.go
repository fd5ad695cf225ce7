package signalnet

import (
	"context"
	"errors"
	"sync"
)

// ErrBusy is what a subscriber returns for a frame it cannot take now; the
// frame is dropped for it.
var ErrBusy = errors.New("subscriber busy")

// ErrRefused is what the webhook's subscriber returns for a frame that was not
// taken there; it is lost.
var ErrRefused = errors.New("webhook refused")

// Subscriber takes a frame, or waits until it can: meanwhile nobody gets any
// frame, as with signal-cli's one receive thread. It counts what it delivered
// itself; a frame it returns ErrBusy for is counted as dropped here.
type Subscriber func(ctx context.Context, f Frame) error

// Listening says what a subscriber's presence means for the receive mode.
type Listening int

// What a subscriber is.
const (
	Passive    Listening = iota // gets frames, and does not make signal-cli receive
	Connection                  // a JSON-RPC connection
	Subscribed                  // a JSON-RPC subscription
)

// hub knows who gets frames.
type hub struct {
	thread chan struct{} // one slot: the receive thread
	wake   chan struct{} // one slot: somebody listens again and frames wait

	mu      sync.Mutex
	next    int               // guarded by mu
	members []member          // guarded by mu; replaced, never changed in place
	last    Subscriber        // guarded by mu; nil without a webhook
	active  map[Listening]int // guarded by mu
	backlog backlog           // frames that wait at Signal's server
}

type member struct {
	id   int
	take Subscriber
}

func (h *hub) init() {
	h.thread, h.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	h.active = map[Listening]int{}
}

// Subscribe adds a subscriber; a nil take only counts as present. The returned
// function removes it, and may be called more than once.
func (n *Network) Subscribe(as Listening, take Subscriber) (leave func()) {
	h := &n.hub
	h.mu.Lock()
	h.next++
	id := h.next
	if take != nil {
		h.members = append(h.members[:len(h.members):len(h.members)], member{id, take})
	}
	h.active[as]++
	h.mu.Unlock()
	if n.receiving() && h.backlog.len() > 0 {
		select {
		case h.wake <- struct{}{}:
		default: // already woken
		}
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.active[as]--
		kept := make([]member, 0, len(h.members))
		for _, m := range h.members {
			if m.id != id {
				kept = append(kept, m)
			}
		}
		h.members = kept
	})
}

// SubscribeWebhook makes take the subscriber that gets each frame after all
// others, for good.
func (n *Network) SubscribeWebhook(take Subscriber) {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	n.hub.last = take
}

// receiving says whether signal-cli pulls frames from Signal's server now.
func (n *Network) receiving() bool {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	switch n.Mode {
	case OnConnection:
		return n.hub.active[Connection]+n.hub.active[Subscribed] > 0
	case Manual:
		return n.hub.active[Subscribed] > 0
	default:
		return true
	}
}

// deliver runs a frame through the receive thread.
func (n *Network) deliver(ctx context.Context, f Frame) {
	if !n.lockThread(ctx) {
		n.countDropped("reset")
		return
	}
	defer n.unlockThread()
	if !n.receiving() || n.hub.backlog.len() > 0 {
		if !n.hub.backlog.push(f) {
			n.countDropped("backlog_full")
		}
		n.drainLocked(ctx)
		return
	}
	n.fanOut(ctx, f)
}

// drainWhenWoken delivers what waited while nobody listened, whenever somebody
// listens again, until ctx ends.
func (n *Network) drainWhenWoken(ctx context.Context) {
	for {
		select {
		case <-n.hub.wake:
		case <-ctx.Done():
			return
		}
		if n.lockThread(ctx) {
			n.drainLocked(ctx)
			n.unlockThread()
		}
	}
}

// drainLocked ends with the backlog or the last listener; the caller has the thread.
func (n *Network) drainLocked(ctx context.Context) {
	for n.receiving() && ctx.Err() == nil {
		f, ok := n.hub.backlog.pop()
		if !ok {
			return
		}
		n.fanOut(ctx, f)
	}
}

func (n *Network) lockThread(ctx context.Context) bool {
	select {
	case n.hub.thread <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (n *Network) unlockThread() { <-n.hub.thread }

func (n *Network) fanOut(ctx context.Context, f Frame) {
	n.hub.mu.Lock()
	members, last := n.hub.members, n.hub.last
	n.hub.mu.Unlock()
	n.noteEmitted(f)
	if len(members) == 0 && last == nil {
		n.countDropped("no_client")
		return
	}
	for _, m := range members {
		if errors.Is(m.take(ctx, f), ErrBusy) {
			n.countDropped("busy")
		}
	}
	if last == nil || !errors.Is(last(ctx, f), ErrRefused) {
		return
	}
	if ctx.Err() != nil {
		n.countDropped("reset")
	} else {
		n.countDropped("webhook")
	}
}

// Lost counts a frame that was taken and could not be written any more.
func (n *Network) Lost() { n.countDropped("write") }

// backlog is a bounded first-in-first-out queue of frames.
type backlog struct {
	mu     sync.Mutex
	frames []Frame // guarded by mu
	bytes  int64   // guarded by mu
}

func (b *backlog) push(f Frame) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := int64(len(f.Params)) + f.Spec.size()
	if len(b.frames) >= maxQueued || b.bytes+size > maxQueuedBytes {
		return false
	}
	b.frames, b.bytes = append(b.frames, f), b.bytes+size
	return true
}

func (b *backlog) pop() (Frame, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.frames) == 0 {
		return Frame{}, false
	}
	f := b.frames[0]
	b.frames[0] = Frame{}
	b.frames = b.frames[1:]
	b.bytes -= int64(len(f.Params)) + f.Spec.size()
	return f, true
}

func (b *backlog) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.frames)
}

func (b *backlog) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames, b.bytes = nil, 0
}
