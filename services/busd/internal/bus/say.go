package bus

import (
	"strings"

	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// own is how the bus makes its own messages.
type own struct {
	encoder wire.Encoder
	at      int // where the message begins that is being made
	serial  uint32

	answers  uint32 // the serial that it answers, 0 for none
	answered string // whom

	echo     wire.Message // one of them, read back for rules and monitors
	echoBody []byte
}

// begin starts a message of the bus itself. Its body goes into the encoder
// that is returned; say or announce ends it.
func (b *Bus) begin(h wire.Header) *wire.Encoder {
	o := &b.own
	o.serial++
	if o.serial == 0 {
		o.serial = 1
	}
	h.Serial, h.Sender = o.serial, wire.BusName
	o.answers, o.answered = h.ReplySerial, h.Destination
	o.encoder.Buf, o.at = b.sending.arena, len(b.sending.arena)
	o.encoder.Begin(h)
	return &o.encoder
}

// finish ends the message that begin has begun. An answer that is longer than
// messages may be is replaced by an error: lists may grow that long. Nothing else
// of the bus's own does.
func (b *Bus) finish() packet {
	o := &b.own
	e := &o.encoder
	e.End()
	if e.TooLong() && o.answers != 0 {
		e.Buf = e.Buf[:o.at]
		e.Begin(wire.Header{Type: wire.ErrorReply, Flags: wire.NoReplyExpected, Serial: o.serial, ReplySerial: o.answers, ErrorName: limitsExceeded, Destination: o.answered, Sender: wire.BusName, Signature: "s"})
		e.String("The answer would be longer than messages and arrays may be")
		e.End()
	}
	b.sending.arena, e.Buf = e.Buf, nil
	return packet{at: o.at, n: len(b.sending.arena) - o.at}
}

// reply starts an answer to the message that is handled.
func (b *Bus) reply(p *Peer, signature string) *wire.Encoder {
	return b.begin(wire.Header{Type: wire.MethodReturn, Flags: wire.NoReplyExpected, ReplySerial: b.handled.msg.Serial, Destination: p.name, Signature: signature})
}

// sendError answers the message with that serial with an error.
func (b *Bus) sendError(to *Peer, serial uint32, name, text string) {
	b.beginError(to, serial, name, text)
	b.say(to)
}

func (b *Bus) beginError(to *Peer, serial uint32, name, text string) {
	destination := to.name
	if destination == "" {
		destination = notActive
	}
	e := b.begin(wire.Header{Type: wire.ErrorReply, Flags: wire.NoReplyExpected, ReplySerial: serial, ErrorName: name, Destination: destination, Signature: "s"})
	e.String(cut(strings.ToValidUTF8(text, "\uFFFD"), maxText)) // it may have the name of a file in it
}

// say sends what begin has begun to one peer. Monitors see it, whether the
// policy lets the peer have it or not (CVE-2023-34969); others who listen in
// do not, as in dbus-daemon.
func (b *Bus) say(to *Peer) { b.sayWith(to, nil) }

// sayWith is say with descriptors.
func (b *Bus) sayWith(to *Peer, fds *fdSet) {
	k := b.finish()
	k.fds = fds
	if b.watched() || to.policy != nil && !to.policy.ReceivesAll() {
		b.readBack(k)
		b.capture(to, k)
		if v := b.mayHear(to); !v.Allow {
			if b.watched() {
				b.captureUnheard(to, v)
			}
			return
		}
	}
	b.give(to, k)
}

// announce sends what begin has begun to everybody who has a rule for it.
func (b *Bus) announce() {
	k := b.finish()
	b.readBack(k)
	b.capture(nil, k)
	b.findOwn(&b.matching.rules, nil)
	for _, p := range b.matching.visit.picked {
		if b.mayHear(p).Allow {
			b.give(p, k)
		}
	}
}

// readBack reads a message of the bus's own, for those who look at fields.
func (b *Bus) readBack(k packet) {
	data := b.sending.arena[k.at : k.at+k.n]
	header, _, err := wire.Frame(data)
	if err == nil {
		err = b.own.echo.Parse(data[:header])
	}
	if err != nil {
		panic("busd: the bus made an invalid message: " + err.Error())
	}
	b.own.echoBody = data[header:]
}

// give queues a message of the bus itself, on the account of whoever gets it.
func (b *Bus) give(to *Peer, k packet) {
	fds := len(k.descriptors())
	if fds > 0 && !to.fdsAllowed {
		return
	}
	if !b.takes(to.user, to, k.size(), fds) {
		b.stats.OverLimit++
		return
	}
	k.payer = to.user
	b.queue(to, k)
}

// mayHear asks the policy whether a peer may have the message of the bus
// itself that readBack has read.
func (b *Bus) mayHear(to *Peer) policy.Verdict {
	if to.policy == nil || to.policy.ReceivesAll() {
		return policy.Verdict{Allow: true}
	}
	pm := policyMessage(&b.own.echo, b.own.echo.Type != wire.Signal)
	return to.policy.CanReceive(&pm, busNames, false)
}

var busNames = policy.Names{wire.BusName}
