package bus

import "fmt"

// Left is what a bus without connections should have nothing of.
func (b *Bus) Left() string {
	left := ""
	for _, c := range []struct {
		what string
		n    int
	}{
		{"connections by name", len(b.peers.byID)}, {"half-open connections", b.accepting.incomplete}, {"connections", b.peers.completed},
		{"users", len(b.users.byUID)}, {"names", b.names.Len()}, {"rules", b.matching.rules.Len()}, {"rules of monitors", b.matching.monitors.Len()},
		{"pending replies", b.pendings.count}, {"starts", b.starts.len()}, {"calls of ReloadConfig", len(b.reloads.now) + len(b.reloads.next)},
		{"descriptors of messages", b.memory.openFDs}, {"timers", len(b.loop.timers)}, {"peers that are ready", len(b.loop.ready)},
		{"peers with packets", len(b.sending.dirty)}, {"unread descriptors", b.unread.debts}, {"peers with unread descriptors", len(b.unread.peers)}, {"peers that leave", len(b.peers.leaving)},
	} {
		if c.n != 0 {
			left += fmt.Sprintf("%d %s; ", c.n, c.what)
		}
	}
	for _, p := range b.peers.byFD {
		if p != nil {
			left += "socket of " + p.label() + "; "
		}
	}
	return left
}

// Charged is what waits on account of a user; the uid of those without
// credentials is -1.
func (b *Bus) Charged(uid int64) (bytes, fds int64) {
	u := b.users.byUID[uid]
	if u == nil {
		return 0, 0
	}
	return u.bytes.Stats().InUse, u.fds.Stats().InUse
}

// Overdue lets the bus do something at the end of the turn, as a timer does.
func (b *Bus) Overdue(fire func()) { b.set(&timer{fire: fire}, 1) }

// Garble queues what cannot be sent for the peer of that name.
func (b *Bus) Garble(name string) {
	p := b.find(name)
	b.queue(p, packet{at: cap(b.sending.arena), n: 1, payer: p.user})
}

// Timers is how many are set.
func (b *Bus) Timers() int { return len(b.loop.timers) }
