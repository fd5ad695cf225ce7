package bus

import (
	"slices"
	"strings"

	"quartet/services/busd/internal/name"
	"quartet/services/busd/internal/wire"
)

// Every peer keeps two lists of names: those that it owns, which match rules
// go by, and its claims, which the policy goes by: these, those that it waits
// for, and its unique one.

type names struct {
	name.Registry[*Peer]
	handover name.Change[*Peer] // what everybody is being told
}

// reclaim brings a peer's claim to one name up to date.
func (b *Bus) reclaim(p *Peer, wellKnown string) {
	at := slices.Index(p.claims, wellKnown)
	switch has := b.names.IsOwnerOrQueued(p, wellKnown); {
	case has && at < 0:
		p.claims = append(p.claims, strings.Clone(wellKnown))
	case !has && at >= 0:
		p.claims = slices.Delete(p.claims, at, at+1)
	}
}

// ownerChanged tells everybody that a well-known name has another owner: who
// has lost it, all who watch, and who has it now.
func (b *Bus) ownerChanged(c name.Change[*Peer]) {
	b.names.handover = c
	if c.Old != nil {
		if at := slices.Index(c.Old.owned, c.Name); at >= 0 {
			c.Old.owned = slices.Delete(c.Old.owned, at, at+1)
		}
		b.reclaim(c.Old, c.Name)
		b.tellLoss(c.Old, c.Name)
	}
	if c.New != nil {
		c.New.owned = append(c.New.owned, c.Name)
		b.reclaim(c.New, c.Name)
	}
	b.announceOwner(c.Name, nameOrNone(c.Old), nameOrNone(c.New))
	if c.New != nil {
		b.tellName(c.New, "NameAcquired", c.Name)
	}
	b.names.handover = name.Change[*Peer]{}
	if c.New != nil {
		b.started(c.Name)
	}
}

func nameOrNone(p *Peer) string {
	if p == nil {
		return ""
	}
	return p.name
}

func (b *Bus) tellName(to *Peer, member, what string) {
	e := b.begin(wire.Header{Type: wire.Signal, Flags: wire.NoReplyExpected, Path: wire.BusPath, Interface: wire.BusName, Member: member, Destination: to.name, Signature: "s"})
	e.String(what)
	b.say(to)
}

// tellLoss tells a peer that it has lost a name. If it has gone already, only
// monitors see that.
func (b *Bus) tellLoss(p *Peer, what string) {
	if p.state == active || b.watched() {
		b.tellName(p, "NameLost", what)
	}
}

func (b *Bus) announceOwner(what, before, after string) {
	if b.matching.rules.Len() == 0 && !b.watched() {
		return
	}
	e := b.begin(wire.Header{Type: wire.Signal, Flags: wire.NoReplyExpected, Path: wire.BusPath, Interface: wire.BusName, Member: "NameOwnerChanged", Signature: "sss"})
	e.String(what)
	e.String(before)
	e.String(after)
	b.announce()
}

// releaseNames takes all names off a peer: one that leaves loses the last it
// got first and its unique one last, one that becomes a monitor the other way
// round, as in dbus-daemon.
func (b *Bus) releaseNames(p *Peer, leaves bool) {
	changes := b.names.ReleaseAll(p)
	p.owned, p.claims = nil, nil // first, so that no name is searched for among all others
	if !leaves {
		slices.Reverse(changes)
		b.releaseUnique(p)
	}
	for _, c := range changes {
		b.ownerChanged(c)
	}
	if leaves {
		b.releaseUnique(p)
	}
}

func (b *Bus) releaseUnique(p *Peer) {
	if p.name == "" || b.peers.byID[p.id] != p {
		return
	}
	b.tellLoss(p, p.name)
	delete(b.peers.byID, p.id)
	b.announceOwner(p.name, p.name, "")
}
