package bus

import "quartet/services/busd/internal/wire"

var verboseInterface = iface{
	name: "org.freedesktop.DBus.Verbose",
	methods: []method{
		{name: "EnableVerbose", canonical: true, privileged: true, call: func(b *Bus, p *Peer, _ *wire.Decoder) *refusal { return b.verbose(p, true) }},
		{name: "DisableVerbose", canonical: true, privileged: true, call: func(b *Bus, p *Peer, _ *wire.Decoder) *refusal { return b.verbose(p, false) }},
	},
}

func (b *Bus) verbose(p *Peer, on bool) *refusal {
	if b.opt.Verbose != nil {
		b.opt.Verbose(on)
	}
	b.ack(p)
	return nil
}

func (b *Bus) reloadConfig(p *Peer, _ *wire.Decoder) *refusal {
	if b.opt.Reload == nil {
		b.ack(p)
		return nil
	}
	serial, quiet := b.msg.Serial, b.msg.Flags&wire.NoReplyExpected != 0
	b.opt.Reload(func(err error) {
		b.Post(func() {
			switch {
			case p.state != active || quiet && err == nil:
			case err != nil:
				b.sendError(p, serial, failed, "The configuration stays as it was: "+err.Error())
			default:
				b.begin(wire.Header{Type: wire.MethodReturn, Flags: wire.NoReplyExpected, ReplySerial: serial, Destination: p.name})
				b.say(p)
			}
		})
	})
	return nil
}
