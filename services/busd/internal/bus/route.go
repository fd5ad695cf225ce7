package bus

import (
	"quartet/services/busd/internal/match"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// matching is who has asked to get what.
type matching struct {
	rules    match.Index[*Peer]
	monitors match.Index[*Peer]
	visit    visitor
}

// route finds who gets a message and gives it to them: the one peer that it
// names, and whoever has a rule that matches, eavesdroppers too. The sender is
// told if it may not, or cannot.
func (b *Bus) route(p *Peer, m *wire.Message) {
	to := b.find(m.Destination)
	absent := to == nil && m.Destination != "" && m.Destination != wire.BusName
	// What the bus does to start a service, or because one could not be
	// started, is seen before what made it do so, as in dbus-daemon.
	late := absent || m.Destination == wire.BusName && isActivationFailure(m)
	if b.watched() && !late {
		b.captureCurrent(p, to)
	}
	var why *refusal
	switch {
	case m.Destination == wire.BusName:
		t := b.aside()
		why = b.toDriver(p, m)
		if t != nil {
			t.compute += b.clock.lap()
		}
	case m.Destination != "":
		if !absent {
			why = b.unicast(p, to, m)
			break
		}
		why = b.toAbsent(p, m)
	case m.Type == wire.MethodCall:
		// A call to nobody is for whoever reads it first, which is the bus: it
		// answers like any peer (specification, "Message Bus Messages").
		why = b.toDriver(p, m)
	case m.Type == wire.Signal:
		b.broadcast(p, nil, m)
	}
	if b.watched() && late {
		b.captureCurrent(p, nil)
	}
	if why != nil && p.state != gone {
		b.refuse(p, why)
	}
}

// unicast gives a message to the peer that it is for.
func (b *Bus) unicast(p, to *Peer, m *wire.Message) *refusal {
	requested := false
	if m.Type == wire.MethodReturn || m.Type == wire.ErrorReply {
		requested = b.settled(to, p, m.ReplySerial)
	}
	if v, vetoed := b.vetoes(p, to, to, m, requested); vetoed {
		return b.vetoed(v, p, to, m, requested)
	}
	payer := p.user // whoever asks for something to wait pays for it
	if requested {
		payer = to.user
	}
	if !b.takes(payer, to, m.HeaderLen+m.BodyLen, int(m.UnixFDs)) {
		b.stats.OverLimit++
		return refused(limitsExceeded, "The destination service '%s' has a full message queue", m.Destination)
	}
	expects := m.Type == wire.MethodCall && m.Flags&wire.NoReplyExpected == 0
	if expects {
		if why := b.mayExpect(p, to, m.Serial); why != nil {
			return why
		}
	}
	if m.UnixFDs > 0 && !to.fdsAllowed {
		return refused(notSupported, "Tried to send message with Unix file descriptors to a client that doesn't support that.")
	}
	if expects {
		b.expect(p, to, m.Serial)
	}
	k := b.stitched(p)
	k.payer = payer
	b.queue(to, k)
	if b.matching.rules.Eavesdrops() {
		b.broadcast(p, to, m)
	}
	return nil
}

// broadcast gives a message to everybody who has a rule that matches it; with
// a recipient that has it already, to those who listen in on others, for whom
// no reply is one that was asked for. Whoever may not have it, cannot, or has
// too much waiting simply does not get it.
func (b *Bus) broadcast(p, addressed *Peer, m *wire.Message) {
	v := &b.matching.visit
	v.picked = v.picked[:0]
	v.sender, v.addressed, v.skip = p, addressed, addressed
	b.subject(&v.subject, m, p, addressed)
	b.matching.rules.Find(&v.subject, v.pick)
	var unheard []*refusal
	for _, to := range v.picked {
		if v, vetoed := b.vetoes(p, addressed, to, m, false); vetoed {
			if b.watched() {
				unheard = append(unheard, b.vetoed(v, p, to, m, false))
			}
			continue
		}
		if m.UnixFDs > 0 && !to.fdsAllowed {
			if b.watched() {
				unheard = append(unheard, refused(notSupported, "Tried to send broadcast message with Unix file descriptors to a client that doesn't support that."))
			}
			continue
		}
		if !b.takes(to.user, to, m.HeaderLen+m.BodyLen, int(m.UnixFDs)) {
			b.stats.OverLimit++
			continue
		}
		k := b.stitched(p)
		k.payer = to.user
		b.queue(to, k)
	}
	for _, why := range unheard {
		b.captureRefusal(p, why)
	}
}

// A visitor collects who is picked for a message, each once. Its functions are
// made once, so that a search allocates nothing.
type visitor struct {
	sender, addressed *Peer
	skip              *Peer // has it already
	picked            []*Peer
	serial            uint64

	subject match.Message
	pick    func(*Peer)
	names   func() []string
	is      func(name string) bool
	args    func() wire.Args
	ownArgs func() wire.Args
}

func (v *visitor) init(b *Bus) {
	v.pick = func(p *Peer) {
		if p.picked != v.serial && p != v.skip {
			p.picked = v.serial
			v.picked = append(v.picked, p)
		}
	}
	v.names = func() []string { return v.sender.owned }
	v.is = func(name string) bool {
		if name == b.names.handover.Name { // it is said who loses it while that still has it
			return b.names.handover.Old == v.addressed
		}
		return b.find(name) == v.addressed
	}
	v.args = func() wire.Args { return b.handled.msg.Args(b.handled.body) }
	v.ownArgs = func() wire.Args { return b.own.echo.Args(b.own.echoBody) }
}

// subject is a peer's message as match rules see it.
func (b *Bus) subject(s *match.Message, m *wire.Message, p, addressed *Peer) {
	v := &b.matching.visit
	v.serial++
	*s = match.Message{Type: m.Type, Sender: p.name, Interface: m.Interface, Member: m.Member, Path: m.Path, Destination: m.Destination, Args: v.args}
	if len(p.owned) > 0 {
		s.SenderNames = v.names
	}
	if addressed != nil && m.Destination != wire.BusName {
		s.DestinationIs = v.is
	}
}

// A veto is a verdict against a message: of the sender's policy or of the
// receiver's. The zero value is that its type is unknown.
type veto struct {
	what    string
	matched int
}

// vetoes asks the policy whether p may send a message to a peer, and that peer
// receive it, which is another than the addressed one for whoever listens in.
// Where everything is allowed it asks nothing.
func (b *Bus) vetoes(p, addressed, to *Peer, m *wire.Message, requested bool) (veto, bool) {
	if m.Type > wire.Signal {
		return veto{}, true
	}
	if p.policy.SendsAll() && to.policy.ReceivesAll() {
		return veto{}, false
	}
	pm := policyMessage(m, requested)
	if v := p.policy.CanSend(&pm, to.claims); !v.Allow {
		return veto{"send", v.Matched}, true
	} else if v.Log {
		b.logVerdict("sent", v, p.label(), to.label())
	}
	if v := to.policy.CanReceive(&pm, p.claims, m.Destination != "" && to != addressed); !v.Allow {
		return veto{"receive", v.Matched}, true
	} else if v.Log {
		b.logVerdict("received", v, p.label(), to.label())
	}
	return veto{}, false
}

// vetoed is what a sender is told of it.
func (b *Bus) vetoed(v veto, p, to *Peer, m *wire.Message, requested bool) *refusal {
	if v.what == "" {
		return unknownType()
	}
	return b.rejected(v.what, v.matched, p, to, m, requested)
}

func policyMessage(m *wire.Message, requested bool) policy.Message {
	return policy.Message{
		Type: m.Type, Interface: m.Interface, Member: m.Member, Path: m.Path, ErrorName: m.ErrorName,
		Destination: m.Destination, UnixFDs: m.UnixFDs, RequestedReply: requested,
	}
}
