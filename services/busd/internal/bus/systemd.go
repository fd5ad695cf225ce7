package bus

import (
	"log/slog"
	"slices"
	"strings"

	"quartet/services/busd/internal/wire"
)

// askSystemd has systemd start the unit of a service.
func (b *Bus) askSystemd(s *start) {
	e := b.begin(wire.Header{Type: wire.Signal, Path: wire.BusPath, Interface: activatorInterface, Member: "ActivationRequest", Destination: systemdName, Signature: "s"})
	e.String(s.service.Unit)
	b.sayToSystemd()
}

// systemd is whom a call for systemd is sent to: the peer itself once there is
// one.
func (b *Bus) systemd() string {
	if to := b.find(systemdName); to != nil {
		return to.name
	}
	return systemdName
}

// sayToSystemd sends systemd what begin has begun, when it has come. Monitors
// see it now.
func (b *Bus) sayToSystemd() {
	if to := b.find(systemdName); to != nil {
		b.say(to)
		return
	}
	k := b.finish()
	data := slices.Clone(b.sending.arena[k.at : k.at+k.n])
	if b.watched() {
		b.readBack(k)
		b.capture(nil, k)
	} else {
		b.sending.arena = b.sending.arena[:k.at]
	}
	header, _, _ := wire.Frame(data)
	if why := b.start(Service{Name: systemdName}, request{message: data, header: header}); why != nil {
		b.log.Warn("systemd cannot be asked to start a unit", slog.String("err", why.text))
	}
}

func isActivationFailure(m *wire.Message) bool {
	return m.Type == wire.Signal && m.Interface == activatorInterface && m.Member == "ActivationFailure"
}

// activationFailed hears from systemd that a unit did not start. Nobody else
// is believed (CVE-2015-0245).
func (b *Bus) activationFailed(p *Peer, m *wire.Message) *refusal {
	if b.find(systemdName) != p || !b.privileged(p) {
		return refused(accessDenied, "Only systemd can tell that an activation has failed")
	}
	if m.Signature != "sss" {
		return refused(invalidArgs, "ActivationFailure has wrong args (%q, expected \"sss\")", m.Signature)
	}
	d := m.Decode(b.handled.body)
	unit, name, text := d.String(), strings.Clone(d.String()), strings.Clone(cut(d.String(), maxText))
	if !wire.ValidErrorName(name) {
		name = failed
	}
	for _, s := range b.starts.byName {
		if s.service.Unit == unit && unit != "" {
			b.startFailed(s, name, text)
		}
	}
	return nil
}
