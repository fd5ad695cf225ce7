package bus

import (
	"quartet/services/busd/internal/match"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// watched says whether a monitor sees what passes.
func (b *Bus) watched() bool { return b.matching.monitors.Len() > 0 }

// captureCurrent shows monitors the message that is handled, as it was sent
// and before anything is decided about it.
func (b *Bus) captureCurrent(p, addressed *Peer) {
	v := &b.matching.visit
	v.picked = v.picked[:0]
	v.sender, v.addressed, v.skip = p, addressed, nil
	b.subject(&v.subject, &b.handled.msg, p, addressed)
	b.matching.monitors.Find(&v.subject, v.pick)
	for _, to := range v.picked {
		if b.handled.msg.UnixFDs > 0 && !to.fdsAllowed || !b.takes(to.user, to, b.handled.msg.HeaderLen+b.handled.msg.BodyLen, int(b.handled.msg.UnixFDs)) {
			continue
		}
		k := b.stitched(p)
		k.payer = to.user
		b.queue(to, k)
	}
}

// capture shows monitors a message of the bus itself, which readBack has read.
func (b *Bus) capture(to *Peer, k packet) {
	if !b.watched() {
		return
	}
	b.findOwn(&b.matching.monitors, to)
	for _, m := range b.matching.visit.picked {
		b.give(m, k)
	}
}

// captureRefusal shows monitors why somebody did not get the message that is
// handled. Its sender is not told.
func (b *Bus) captureRefusal(p *Peer, r *refusal) {
	b.beginError(p, b.handled.msg.Serial, r.name, r.text)
	k := b.finish()
	b.readBack(k)
	b.capture(p, k)
}

// captureUnheard shows monitors that the policy keeps a peer from the message
// of the bus itself that readBack has read.
func (b *Bus) captureUnheard(to *Peer, v policy.Verdict) {
	requested := b.own.echo.Type == wire.MethodReturn || b.own.echo.Type == wire.ErrorReply
	r := b.rejected("receive", v.Matched, nil, to, &b.own.echo, requested)
	e := b.begin(wire.Header{Type: wire.ErrorReply, Flags: wire.NoReplyExpected, ReplySerial: b.own.echo.Serial, ErrorName: r.name, Destination: wire.BusName, Signature: "s"})
	e.String(r.text)
	k := b.finish()
	b.readBack(k)
	b.capture(nil, k)
}

// findOwn picks who has rules in x that match the bus's own message to a peer.
func (b *Bus) findOwn(x *match.Index[*Peer], to *Peer) {
	v, m := &b.matching.visit, &b.own.echo
	v.serial++
	v.picked = v.picked[:0]
	v.addressed, v.skip = to, to // it is told itself, or is not to hear of it
	v.subject = match.Message{Type: m.Type, Sender: wire.BusName, Interface: m.Interface, Member: m.Member, Path: m.Path, Destination: m.Destination, Args: v.ownArgs}
	if to != nil {
		v.subject.DestinationIs = v.is
	}
	x.Find(&v.subject, v.pick)
}
