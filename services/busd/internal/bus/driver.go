package bus

import (
	"quartet/services/busd/internal/wire"
)

// An iface is one of the bus's own interfaces.
type iface struct {
	name       string
	anyPath    bool // it is there on every object
	methods    []method
	signals    []signal
	properties []property
}

// A method is one of theirs.
type method struct {
	name       string
	in, out    []arg
	canonical  bool // on wire.BusPath only
	privileged bool // for the bus's own user and root
	call       func(*Bus, *Peer, *wire.Decoder) *refusal

	signature string // of in
}

type arg struct{ kind, name string }

type signal struct {
	name string
	args []arg
}

type property struct {
	name, kind string
	write      func(*Bus, *wire.Encoder)
}

// method is the one of that name; nil: there is none.
func (in *iface) method(name string) *method {
	for i := range in.methods {
		if in.methods[i].name == name {
			return &in.methods[i]
		}
	}
	return nil
}

// interfaces are all of them, in the order in which a call without an
// interface searches them.
var interfaces []*iface

// Their methods look at interfaces, so it cannot be declared with its value.
func init() {
	interfaces = []*iface{&coreInterface, &propertiesInterface, &introspectableInterface, &monitoringInterface, &verboseInterface, &statsInterface, &peerInterface}
	for _, in := range interfaces {
		for i := range in.methods {
			m := &in.methods[i]
			for _, a := range m.in {
				m.signature += a.kind
			}
		}
	}
}

// toDriver handles a message for the bus itself. Who listens in hears of it
// behind its answer, and not if it was refused, as in dbus-daemon.
func (b *Bus) toDriver(p *Peer, m *wire.Message) *refusal {
	if m.Destination == "" {
		return b.toNobody(p, m)
	}
	if why := b.maySpeak(p, m); why != nil {
		return why
	}
	why := b.drive(p, m)
	if why == nil && b.matching.rules.Eavesdrops() {
		b.broadcast(p, nil, m)
	}
	if p.state == monitoring { // since just now: it answers nobody any more
		b.forgetReplies(p)
	}
	return why
}

// drive does what a message asks of the bus.
func (b *Bus) drive(p *Peer, m *wire.Message) *refusal {
	switch {
	case m.Type == wire.MethodCall:
	case isActivationFailure(m):
		return b.activationFailed(p, m)
	default:
		return nil // nobody here asked for it
	}
	found := false
	for _, in := range interfaces {
		if m.Interface != "" && m.Interface != in.name || !in.anyPath && m.Path != wire.BusPath {
			continue
		}
		found = true
		if call := in.method(m.Member); call != nil {
			return b.callMethod(p, m, call)
		}
	}
	if !found {
		return refused(unknownInterface, "%s does not have interface %s at %s", wire.BusName, m.Interface, m.Path)
	}
	return refused(unknownMethod, "%s does not understand message %s", wire.BusName, m.Member)
}

func (b *Bus) callMethod(p *Peer, m *wire.Message, call *method) *refusal {
	switch {
	case call.canonical && m.Path != wire.BusPath:
		return refused(accessDenied, "Method '%s' is only available at the canonical object path '%s'", call.name, wire.BusPath)
	case call.privileged && !b.privileged(p):
		return refused(accessDenied, "The caller does not have the necessary privileged to call method '%s'", call.name)
	case call.signature != m.Signature:
		return refused(invalidArgs, "Call to '%s' has wrong args (%q, expected %q)", call.name, m.Signature, call.signature)
	}
	d := m.Decode(b.handled.body)
	return call.call(b, p, &d)
}

// privileged is who may do everything: root, and the bus's own user.
func (b *Bus) privileged(p *Peer) bool {
	return p.who.known && (p.who.uid == 0 || p.who.uid == b.opt.OwnUID)
}

// maySpeak asks the policy whether a peer may send to the bus itself.
func (b *Bus) maySpeak(p *Peer, m *wire.Message) *refusal {
	if p.state == nameless { // then it is Hello, which whoever may connect may say
		return nil
	}
	return b.maySend(p, m, busNames)
}

// toNobody handles a method call without a destination, which is for the
// other end of the connection: it answers as any peer does.
func (b *Bus) toNobody(p *Peer, m *wire.Message) *refusal {
	if m.Interface == peerInterface.name || m.Interface == "" {
		if call := peerInterface.method(m.Member); call != nil {
			return b.callMethod(p, m, call)
		}
	}
	return refused(unknownMethod, "Method %q with signature %q on interface %q doesn't exist", m.Member, m.Signature, m.Interface)
}

// ack is the answer to a call that has none to give.
func (b *Bus) ack(p *Peer) {
	if b.handled.msg.Flags&wire.NoReplyExpected != 0 {
		return
	}
	b.reply(p, "")
	b.say(p)
}

var peerInterface = iface{
	name:    "org.freedesktop.DBus.Peer",
	anyPath: true,
	methods: []method{
		{name: "Ping", call: func(b *Bus, p *Peer, _ *wire.Decoder) *refusal { b.ack(p); return nil }},
		{name: "GetMachineId", out: []arg{{"s", "machine_uuid"}}, call: (*Bus).getMachineID},
	},
}

func (b *Bus) getMachineID(p *Peer, _ *wire.Decoder) *refusal {
	if b.opt.MachineID == "" {
		return refused(failed, "This machine has no id: neither /etc/machine-id nor /var/lib/dbus/machine-id can be read")
	}
	b.reply(p, "s").String(b.opt.MachineID)
	b.say(p)
	return nil
}
