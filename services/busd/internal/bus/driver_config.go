package bus

import (
	"slices"

	"quartet/services/busd/internal/wire"
)

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

// reloads are the calls of ReloadConfig that await their answer. However many there
// are, one reload runs, and one that begins behind it is for all who came since.
type reloads struct {
	running bool
	now     []reloadCall // of the one that runs
	next    []reloadCall
}

type reloadCall struct {
	from   *Peer
	serial uint32
	quiet  bool // it wants no reply
}

func (b *Bus) reloadConfig(p *Peer, _ *wire.Decoder) *refusal {
	if b.opt.Reload == nil {
		b.ack(p)
		return nil
	}
	if limit := b.settings.Limits.MaxRepliesPerConnection; p.reloads >= limit {
		return refused(limitsExceeded, "As many calls of ReloadConfig as may wait for a reply wait already (max_replies_per_connection=%d)", limit)
	}
	p.reloads++
	b.reloads.next = append(b.reloads.next, reloadCall{p, b.handled.msg.Serial, b.handled.msg.Flags&wire.NoReplyExpected != 0})
	b.reload()
	return nil
}

// reload begins a reload if somebody waits for one and none runs.
func (b *Bus) reload() {
	r := &b.reloads
	if r.running || len(r.next) == 0 {
		return
	}
	r.running, r.now, r.next = true, r.next, nil
	b.opt.Reload(func(err error) { b.Post(func() { b.reloaded(err) }) })
}

// reloaded answers everybody who has waited for the reload that has ended.
func (b *Bus) reloaded(err error) {
	ended := b.reloads.now
	b.reloads.running, b.reloads.now = false, nil
	for _, c := range ended {
		c.from.reloads--
		switch {
		case c.from.state != active || c.quiet && err == nil:
		case err != nil:
			b.sendError(c.from, c.serial, failed, "The configuration stays as it was: "+err.Error())
		default:
			b.begin(wire.Header{Type: wire.MethodReturn, Flags: wire.NoReplyExpected, ReplySerial: c.serial, Destination: c.from.name})
			b.say(c.from)
		}
	}
	b.reload()
}

// forgetReloads takes the calls of a peer that leaves out of those that wait.
func (b *Bus) forgetReloads(p *Peer) {
	if p.reloads > 0 {
		gone := func(c reloadCall) bool { return c.from == p }
		b.reloads.now = slices.DeleteFunc(b.reloads.now, gone)
		b.reloads.next = slices.DeleteFunc(b.reloads.next, gone)
	}
}
