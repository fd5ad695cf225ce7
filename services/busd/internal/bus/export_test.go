package bus

import "fmt"

// Left is what a bus without connections should have nothing of.
func (b *Bus) Left() string {
	left := ""
	for _, c := range []struct {
		what string
		n    int
	}{
		{"connections by name", len(b.byID)}, {"half-open connections", b.incomplete}, {"connections", b.completed},
		{"users", len(b.users)}, {"names", b.names.Len()}, {"rules", b.rules.Len()}, {"rules of monitors", b.monitors.Len()},
		{"pending replies", b.pendings.count}, {"starts", b.starts.len()}, {"calls of ReloadConfig", len(b.reloads.now) + len(b.reloads.next)},
		{"descriptors of messages", b.openFDs}, {"timers", len(b.timers)}, {"peers that are ready", len(b.ready)},
		{"peers with packets", len(b.dirty)}, {"unread descriptors", b.unread.debts}, {"peers with unread descriptors", len(b.unread.peers)}, {"peers that leave", len(b.leaving)},
	} {
		if c.n != 0 {
			left += fmt.Sprintf("%d %s; ", c.n, c.what)
		}
	}
	for _, p := range b.byFD {
		if p != nil {
			left += "socket of " + p.label() + "; "
		}
	}
	return left
}

// Charged is what waits on account of a user; the uid of those without
// credentials is -1.
func (b *Bus) Charged(uid int64) (bytes, fds int64) {
	u := b.users[uid]
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
	b.queue(p, packet{at: cap(b.arena), n: 1, payer: p.user})
}

// Timers is how many are set.
func (b *Bus) Timers() int { return len(b.timers) }
