package bus

import (
	"strconv"

	"quartet/kit/budget"
	"quartet/services/busd/internal/policy"
)

// A user is what the bus keeps for all the connections of one uid together.
type user struct {
	uid   uint32
	known bool // false for all who came without credentials

	// What waits in the bus because this user asked for it, and descriptors also
	// in sockets.
	bytes *budget.Budget
	fds   *budget.Budget

	incoming    int // bytes of big messages that are being received
	incomingFDs int // that have come, and their messages have not
	connections int // that have said Hello
	uses        int // by peers and debts; at 0 it is forgotten
}

// users are all of them, and what their connections share.
type users struct {
	byUID    map[int64]*user
	idle     *user // the last one that was forgotten
	policies map[string]*policy.Client
	gids     [64]uint32 // room to read groups into
}

func (u *user) String() string {
	if !u.known {
		return "unknown"
	}
	return strconv.FormatUint(uint64(u.uid), 10)
}

// take charges the user, or changes nothing.
func (u *user) take(bytes, fds int) bool {
	if bytes > 0 && !u.bytes.TryTake(int64(bytes)) {
		return false
	}
	if fds > 0 && !u.fds.TryTake(int64(fds)) {
		if bytes > 0 {
			u.bytes.Give(int64(bytes))
		}
		return false
	}
	return true
}

// could says whether take would charge it.
func (u *user) could(bytes, fds int) bool {
	if !u.take(bytes, fds) {
		return false
	}
	u.give(bytes, fds)
	return true
}

func (u *user) give(bytes, fds int) {
	if bytes > 0 {
		u.bytes.Give(int64(bytes))
	}
	if fds > 0 {
		u.fds.Give(int64(fds))
	}
}

// takes says whether a peer may be given something more: of its own limits and
// of the user's whose account that would wait on.
func (b *Bus) takes(payer *user, p *Peer, bytes, fds int) bool {
	return !b.atLimits(p, fds) && b.hasRoom(payer, p, bytes, fds)
}

// atLimits says whether as much waits for a peer already as its limits allow.
func (b *Bus) atLimits(p *Peer, fds int) bool {
	o, l := &p.out, &b.settings.Limits
	if len(o.waiting) == 0 { // it keeps up
		return false
	}
	return int64(o.bytes+o.turnBytes) >= l.MaxOutgoingBytes || fds > 0 && int64(o.fds) >= l.MaxOutgoingUnixFDs
}

// hasRoom says whether a user may have this wait for a peer as well. Whoever
// keeps up gets its messages in any case, for nothing of them is expected to
// wait, but for big ones, which are more than a socket takes, and descriptors,
// which wait in the socket.
func (b *Bus) hasRoom(payer *user, p *Peer, bytes, fds int) bool {
	o := &p.out
	switch keepsUp := len(o.waiting) == 0 && bytes < bigMessage; {
	case keepsUp && fds == 0:
		return true
	case keepsUp:
		bytes = 0
	default:
		bytes += o.turnBytes
	}
	if payer.could(bytes, fds) {
		return true
	}
	if fds == 0 || b.unread.turn == b.loop.turn {
		return false
	}
	b.lookAll()
	return payer.could(bytes, fds)
}

// Quota is what may wait in the bus on account of one user.
type Quota struct {
	Bytes int64
	FDs   int64
}

// join counts another use of the user with this uid.
func (b *Bus) join(uid uint32, known bool) *user {
	key := (&user{uid: uid, known: known}).key()
	u := b.users.byUID[key]
	if u == nil && b.users.idle != nil && b.users.idle.key() == key {
		u = b.users.idle
		b.users.byUID[key] = u
	}
	if u == nil {
		quota := b.opt.Quota
		if own, ok := b.opt.Quotas[uid]; ok && known {
			quota = own
		}
		u = &user{uid: uid, known: known}
		u.bytes = budget.New("busd.bytes", quota.Bytes, budget.Options{})
		u.fds = budget.New("busd.fds", quota.FDs, budget.Options{})
		b.users.byUID[key] = u
	}
	u.uses++
	return u
}

// leave ends one use.
func (b *Bus) leave(u *user) {
	if u.uses--; u.uses > 0 {
		return
	}
	delete(b.users.byUID, u.key())
	b.users.idle = u // often the next connection is the same user's
}

// key is where a user is kept: all who are unknown are one.
func (u *user) key() int64 {
	if !u.known {
		return -1
	}
	return int64(u.uid)
}
