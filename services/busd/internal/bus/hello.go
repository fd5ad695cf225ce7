package bus

import (
	"quartet/services/busd/internal/wire"
)

// hello makes a peer a member of the bus: it gets its unique name.
func (b *Bus) hello(p *Peer, _ *wire.Decoder) *refusal {
	if p.state != nameless {
		return refused(failed, "Already handled an Hello message")
	}
	if why := b.crowded(p); why != nil {
		return why
	}
	b.peers.lastID++
	p.id = b.peers.lastID
	p.name = uniqueName(p.id)
	p.claims = []string{p.name}
	p.state = active
	b.peers.byID[p.id] = p
	b.awaitMessage(p) // and no longer for Hello
	p.user.connections++
	b.peers.completed++
	b.stats.PeakConnections = max(b.stats.PeakConnections, b.peers.completed)
	b.countNames()
	b.accepting.incomplete--
	b.countIncomplete()

	b.reply(p, "s").String(p.name)
	b.say(p)
	b.announceOwner(p.name, "", p.name)
	b.tellName(p, "NameAcquired", p.name)
	return nil
}

// crowded says why there is no room for another member, if there is none.
func (b *Bus) crowded(p *Peer) *refusal {
	l := &b.settings.Limits
	switch {
	case b.peers.completed >= l.MaxCompletedConnections:
		return refused(limitsExceeded, "The maximum number of active connections has been reached (max_completed_connections=%d)", l.MaxCompletedConnections)
	case p.user.known && p.user.connections >= l.MaxConnectionsPerUser:
		return refused(limitsExceeded, "The maximum number of active connections for UID %s has been reached (max_connections_per_user=%d)", p.user, l.MaxConnectionsPerUser)
	}
	return nil
}
