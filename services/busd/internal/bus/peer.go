package bus

import (
	"strconv"

	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/rawio"
	"quartet/services/busd/internal/sasl"
)

// A Peer is one connection.
type Peer struct {
	fd    int
	state state
	via   *listener

	// Who it is: unknown until it has authenticated.
	id     uint64 // of its unique name; 0 before Hello
	name   string // its unique name
	who    credentials
	user   *user
	policy *policy.Client

	loggedIn string // what login has said

	fdsAllowed bool // it negotiated file descriptors

	auth      *sasl.Server // until it has authenticated
	nonceSent bool
	paused    bool  // it is not read until its cookie is there
	late      timer // overdue with authentication, or with a message for descriptors that are here already

	in  inbound
	out outbound

	asked, owes *pending // heads of its lists
	pending     int      // in asked
	reloads     int      // its calls that await one

	owned  []string // well-known names that it owns
	claims []string // these, those that it waits for, and its unique one

	events uint32 // what its socket is waited for
	served uint64 // the last turn it had a share in
	picked uint64 // the last message it was picked for
}

// peers are all connections.
type peers struct {
	byFD      []*Peer
	byID      map[uint64]*Peer // who has a name, by its number: no monitors
	lastID    uint64
	completed int     // have said Hello, monitors too
	leaving   []*Peer // to be buried
}

type state uint8

const (
	authenticating state = iota
	nameless             // authenticated, Hello not said
	active
	monitoring // only listens
	gone
)

// inbound is what a peer has sent and was not handled yet.
type inbound struct {
	buf   []byte // a buffer of ours
	at    int    // where what is left of it begins
	ready bool   // it begins with a whole message

	big *body // a message that is received where it stays
	got int   // bytes of it

	fds []int // came along, and belong to messages in order
}

func (in *inbound) rest() []byte { return in.buf[in.at:] }

// label is the peer as it is called in logs and errors.
func (p *Peer) label() string {
	if p.name != "" {
		return p.name
	}
	return "(inactive)"
}

// sender is whom a peer's message is from. Of those who have no name yet only
// monitors see any: Hello is from the name that it will get, as in dbus-daemon.
func (b *Bus) sender(p *Peer) string {
	switch {
	case p.name != "":
		return p.name
	case isHello(&b.handled.msg) && b.crowded(p) == nil:
		return uniqueName(b.peers.lastID + 1)
	}
	return notActive
}

// notActive stands for the name of a peer that has none yet.
const notActive = ":not.active.yet"

// setEvents sets what the peer's socket is waited for: to be read, unless it is
// paused, and to take what waits for the peer.
func (b *Bus) setEvents(p *Peer) {
	var events uint32
	if !p.paused {
		events |= rawio.In
	}
	if len(p.out.waiting) > 0 {
		events |= rawio.Out
	}
	if p.events == events || p.state == gone {
		return
	}
	if err := b.loop.poll.Change(p.fd, events); err != nil {
		b.drop(p, reasonGone, err)
		return
	}
	p.events = events
}

// uniqueName is the name of the id-th connection. They are counted from :1.0 on,
// as in dbus-daemon, and ids from 1.
func uniqueName(id uint64) string { return ":1." + strconv.FormatUint(id-1, 10) }

// idOf reads a unique name; 0 is no name of ours.
func idOf(unique string) uint64 {
	const prefix = ":1."
	if len(unique) <= len(prefix) || unique[:len(prefix)] != prefix || unique[len(prefix)] == '0' && len(unique) > len(prefix)+1 {
		return 0
	}
	var n uint64
	for _, c := range []byte(unique[len(prefix):]) {
		if c < '0' || c > '9' || n > 1<<56 {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n + 1
}

// find is the peer that has a name now, nil if nobody has.
func (b *Bus) find(name string) *Peer {
	if name != "" && name[0] == ':' {
		return b.peers.byID[idOf(name)]
	}
	p, _ := b.names.Owner(name)
	return p
}
