package bus

import (
	"slices"
	"strings"

	"quartet/services/busd/internal/wire"
)

func (b *Bus) startServiceByName(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	if !wire.ValidBusName(name) { // not even by a file that is being read
		return unknownService(name)
	}
	service, known := b.service(name)
	if !known && b.changing() {
		return b.awaitRefresh(name, request{from: p, serial: b.handled.msg.Serial, quiet: b.handled.msg.Flags&wire.NoReplyExpected != 0})
	}
	if !known {
		return unknownService(name)
	}
	if b.find(name) != nil {
		b.reply(p, "u").Uint32(alreadyRunning)
		b.say(p)
		return nil
	}
	return b.start(service, request{from: p, serial: b.handled.msg.Serial, quiet: b.handled.msg.Flags&wire.NoReplyExpected != 0})
}

func (b *Bus) updateActivationEnvironment(p *Peer, d *wire.Decoder) *refusal {
	if !b.privileged(p) {
		return refused(accessDenied, "Only the bus's own user and root may change the environment of activated services")
	}
	if b.opt.Activation.Update == nil || b.settings.Helper {
		return refused(accessDenied, "Cannot change activation environment on a system bus.")
	}
	set := map[string]string{}
	var assignments []string
	for end := d.Array(8); d.More(end); {
		d.Struct()
		key, value := strings.Clone(d.String()), strings.Clone(d.String())
		if key == "" || strings.ContainsAny(key, "=\x00") {
			return refused(invalidArgs, "%q is no name of an environment variable", key)
		}
		set[key] = value
		assignments = append(assignments, key+"="+value)
	}
	b.opt.Activation.Update(set)
	if b.opt.Activation.Systemd {
		slices.Sort(assignments)
		e := b.begin(wire.Header{Type: wire.MethodCall, Flags: wire.NoReplyExpected, Path: "/org/freedesktop/systemd1", Interface: "org.freedesktop.systemd1.Manager", Member: "SetEnvironment", Destination: b.systemd(), Signature: "as"})
		writeStrings(e, assignments)
		b.sayToSystemd()
	}
	b.ack(p)
	return nil
}

func (b *Bus) listActivatableNames(p *Peer, _ *wire.Decoder) *refusal {
	names := []string{wire.BusName}
	if b.opt.Activation.Names != nil {
		for _, name := range b.opt.Activation.Names() {
			if name != wire.BusName {
				names = append(names, name)
			}
		}
	}
	writeStrings(b.reply(p, "as"), names)
	b.say(p)
	return nil
}

// ServicesChanged tells everybody who watches that other services can be
// started now.
func (b *Bus) ServicesChanged() {
	b.begin(wire.Header{Type: wire.Signal, Flags: wire.NoReplyExpected, Path: wire.BusPath, Interface: wire.BusName, Member: "ActivatableServicesChanged"})
	b.announce()
}
