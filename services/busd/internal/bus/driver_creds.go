package bus

import (
	"os"

	"quartet/services/busd/internal/wire"
)

// about finds whom a question about a connection is about; itself is true for
// the bus.
func (b *Bus) about(name, what string) (p *Peer, itself bool, why *refusal) {
	if name == wire.BusName {
		return nil, true, nil
	}
	if p = b.find(name); p == nil {
		return nil, false, refused(nameHasNoOwner, "Could not get %s of name '%s': no such name", what, name)
	}
	return p, false, nil
}

func (b *Bus) getUnixUser(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	of, itself, why := b.about(name, "UID")
	switch {
	case why != nil:
		return why
	case itself:
		b.reply(p, "u").Uint32(b.opt.OwnUID)
	case !of.who.known:
		return refused(failed, "Could not determine UID for '%s'", name)
	default:
		b.reply(p, "u").Uint32(of.who.uid)
	}
	b.say(p)
	return nil
}

func (b *Bus) getProcessID(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	of, itself, why := b.about(name, "PID")
	switch {
	case why != nil:
		return why
	case itself:
		b.reply(p, "u").Uint32(uint32(os.Getpid()))
	case of.who.pid <= 0:
		return refused(unixProcessUnknown, "Could not determine PID for '%s'", name)
	default:
		b.reply(p, "u").Uint32(uint32(of.who.pid))
	}
	b.say(p)
	return nil
}

func (b *Bus) getAuditData(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	if _, _, why := b.about(name, "audit session data"); why != nil {
		return why
	}
	return refused(errorPrefix+"AdtAuditDataUnknown", "Could not determine audit session data for '%s'", name)
}

func (b *Bus) getSELinuxContext(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	of, _, why := b.about(name, "security context")
	if why != nil {
		return why
	}
	if b.settings.SELinux && of != nil {
		if label := of.securityLabel(); label != "" {
			e := b.reply(p, "ay")
			writeBytes(e, label)
			b.say(p)
			return nil
		}
	}
	return refused(errorPrefix+"SELinuxSecurityContextUnknown", "Could not determine security context for '%s'", name)
}

func writeBytes(e *wire.Encoder, s string) {
	mark := e.OpenArray(1)
	for i := range len(s) {
		e.Byte(s[i])
	}
	e.CloseArray(mark)
}

// getCredentials answers with all that is known of a connection. Only who can
// take a file descriptor, and has no more of them unread than its user may, is
// given one of the process.
func (b *Bus) getCredentials(p *Peer, d *wire.Decoder) *refusal {
	of, itself, why := b.about(d.String(), "credentials")
	if why != nil {
		return why
	}
	who, label, pidfd := credentials{known: true, uid: b.opt.OwnUID, gid: uint32(os.Getegid()), pid: int32(os.Getpid())}, "", -1
	var groups []uint32
	if !itself {
		who, groups, label = of.who, b.groups(of), of.securityLabel()
		if p.fdsAllowed && b.hasRoom(p.user, p, 0, 1) {
			pidfd = of.processFD()
		}
	}
	h := wire.Header{Type: wire.MethodReturn, Flags: wire.NoReplyExpected, ReplySerial: b.handled.msg.Serial, Destination: p.name, Signature: "a{sv}"}
	if pidfd >= 0 {
		h.UnixFDs = 1
	}
	writeCredentials(b.begin(h), who, groups, label, pidfd >= 0)
	b.sayWithFD(p, pidfd)
	return nil
}

// writeCredentials writes what is known, by the names of the specification.
func writeCredentials(e *wire.Encoder, who credentials, groups []uint32, label string, hasFD bool) {
	list := e.OpenArray(8)
	entry := func(key, kind string) {
		e.DictEntry()
		e.String(key)
		e.Variant(kind)
	}
	if who.known {
		entry("UnixUserID", "u")
		e.Uint32(who.uid)
	}
	if who.pid > 0 {
		entry("ProcessID", "u")
		e.Uint32(uint32(who.pid))
	}
	if groups != nil {
		entry("UnixGroupIDs", "au")
		mark := e.OpenArray(4)
		for _, gid := range groups {
			e.Uint32(gid)
		}
		e.CloseArray(mark)
	}
	if hasFD {
		entry("ProcessFD", "h")
		e.Uint32(0)
	}
	if label != "" {
		entry("LinuxSecurityLabel", "ay")
		writeBytes(e, label+"\x00")
	}
	e.CloseArray(list)
}

// sayWithFD is say with a descriptor, which is the bus's to close; -1 is none.
func (b *Bus) sayWithFD(to *Peer, fd int) {
	if fd < 0 {
		b.say(to)
		return
	}
	fds := b.newFDs([]int{fd})
	b.sayWith(to, fds)
	b.releaseFDs(fds)
}
