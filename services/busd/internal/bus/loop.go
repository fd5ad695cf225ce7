package bus

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"quartet/services/busd/internal/name"
	"quartet/services/busd/internal/rawio"
)

// quiet is after how long without anything to do the kept buffers are let go.
const quiet = 2 * time.Second

var errFault = errors.New("handling its message has failed inside the bus")

// A loop is what the turns go on with.
type loop struct {
	poll     *rawio.Poll
	raw      rawio.Buffers // one for all calls: there is one thread
	timers   timers
	stopping bool

	turn         uint64    // which it is
	now          time.Time // when it began
	ready, spare []*Peer   // have whole messages that are not handled
}

// Run serves until ctx ends or Stop is called. It keeps its thread for itself.
func (b *Bus) Run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stop := context.AfterFunc(ctx, b.Stop)
	defer stop()
	defer b.end()
	for !b.loop.stopping {
		if err := b.oneTurn(); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends Run after the turn.
func (b *Bus) Stop() { b.Post(func() { b.loop.stopping = true }) }

// oneTurn waits for something to do and does it. One peer's share is bounded
// while others wait; what is left of it comes first in the next turn.
func (b *Bus) oneTurn() error {
	timeout := b.untilNext()
	if len(b.loop.ready) > 0 {
		timeout = 0
	}
	events, err := b.wait(timeout)
	if err != nil {
		return err
	}
	b.beginTurn()
	ready := b.loop.ready
	b.loop.ready, b.loop.spare = b.loop.spare[:0], ready
	alone := len(ready)+len(events) == 1
	for _, p := range ready {
		if p.state != gone {
			b.serve(p, alone)
		}
	}
	for _, e := range events {
		b.event(int(e.Fd), e.Events, alone)
	}
	b.expire()
	if b.clock.on {
		b.clock.lap()
	}
	b.deliver()
	b.endTurn()
	b.stats.Turns++
	return nil
}

// wait waits for sockets. A bus that has been idle for a while gives back what
// it kept for the next burst, before it sleeps for long.
func (b *Bus) wait(timeout time.Duration) ([]rawio.Event, error) {
	if b.memory.buffers.kept == 0 || timeout >= 0 && timeout <= quiet {
		return b.loop.poll.Wait(timeout)
	}
	events, err := b.loop.poll.Wait(quiet)
	if err != nil || len(events) > 0 {
		return events, err
	}
	b.memory.buffers.drop()
	return nil, nil
}

func (b *Bus) event(fd int, events uint32, alone bool) {
	if fd >= len(b.peers.byFD) || b.peers.byFD[fd] == nil {
		b.otherEvent(fd)
		return
	}
	p := b.peers.byFD[fd]
	if events&rawio.Out != 0 {
		b.drain(p)
	}
	switch {
	case events&^rawio.Out == 0 || p.state == gone || p.served == b.loop.turn: // nothing to read, or it has had its share
	case p.paused: // it has hung up: that is heard in any case
		b.drop(p, reasonClosed, nil)
	default:
		b.serve(p, alone)
	}
}

// otherEvent is for descriptors that are no peer's, not counting one that was
// closed in this very turn.
func (b *Bus) otherEvent(fd int) {
	if fd == b.posted.fd {
		b.runPosted()
		return
	}
	defer b.rescue(nil)
	for _, l := range b.accepting.listeners {
		if l.FD == fd {
			b.accept(l)
			return
		}
	}
}

// serve handles a peer's share of the turn, and sees off who left by it.
func (b *Bus) serve(p *Peer, alone bool) {
	p.served = b.loop.turn
	defer b.rescue(p)
	b.beginBatch(p)
	b.receive(p, alone)
	if p.in.ready && p.state != gone {
		b.loop.ready = append(b.loop.ready, p)
	}
	b.bury()
	b.endBatch()
}

// deliver sends what the turn has routed. Who turns out to be gone leaves, of
// which others are told, until nothing is left to be sent.
func (b *Bus) deliver() {
	for !b.delivered() {
	}
}

// delivered is false if there may be more to send.
func (b *Bus) delivered() bool {
	defer b.rescue(nil)
	b.bury()
	if len(b.sending.dirty) == 0 {
		return true
	}
	b.flush()
	return false
}

// attempt calls what is done for no peer in particular.
func (b *Bus) attempt(what func()) {
	defer b.rescue(nil)
	what()
}

// rescue keeps the bus alive where something has panicked: that is a fault of
// ours, for which one peer pays and not all of them. It is the one that was
// served, and the one that was being sent to, whose stream may have been cut
// anywhere; a timer, a posted call or a new connection is nobody's, and is only
// given up. What it would have done next is not done, so somebody may wait in
// vain, or be charged for what is gone: that is for whoever reads the log.
func (b *Bus) rescue(p *Peer) {
	fault := recover()
	if fault == nil {
		return
	}
	whose := slog.Any("peer", p)
	if p == nil {
		whose = slog.String("peer", "none")
	}
	b.log.LogAttrs(context.Background(), slog.LevelError, "fault in the bus: please report it", slog.Any("panic", fault), slog.String("stack", string(debug.Stack())), whose)
	b.releaseFDs(b.handled.fds)
	b.handled.clear()
	b.names.handover = name.Change[*Peer]{}
	if p != nil {
		b.drop(p, reasonFault, errFault)
	}
	switch {
	case b.sending.to != nil:
		b.drop(b.sending.to, reasonFault, errFault)
		b.sending.to = nil
	case p == nil: // it is counted where everybody looks for faults
		b.stats.Ended[reasonFault]++
	}
}
