// Package bus is the message bus: it accepts connections, authenticates them,
// and forwards their messages to each other by the rules of the D-Bus
// specification, as dbus-daemon does.
//
// One thread owns all of it, so nothing here is locked, and what happens has
// one order for everybody. It never waits for anything but its sockets: what
// is slow (files, programs, user names, telemetry) is done by others, who come
// back with [Bus.Post].
//
// A turn of the loop is the unit of work. In the order of the data:
//
//	loop.go      a turn: wait, serve who is ready, send, see what is overdue
//	accept.go    new connections, as many as may be half open
//	auth.go      SASL; then the peer is somebody, with a policy and a user
//	receive.go   one read a peer and turn, cut into messages
//	message.go   one message: valid, and from somebody who may speak
//	route.go     who gets it: one peer, or whoever has a rule that matches
//	outbound.go  what each peer gets in this turn, sent with one system call
//	waiting.go   what a socket did not take, whose account it is on, and for how long
//	unread.go    descriptors that a socket took and nobody has received
//	close.go     a peer leaves: its names, rules, calls and descriptors with it
//
// What goes on beside the data:
//
//	driver*.go   the bus's own interfaces; hello.go, the first call of each peer
//	say.go       what the bus itself sends; refuse.go, verdict.go, its errors
//	names.go     who owns what, and who is told
//	replies.go   calls that await an answer
//	activate.go  programs started on demand; request.go, who waits for them;
//	             systemd.go, when systemd starts them
//	capture.go   monitors
//	settings.go  a configuration that is replaced while all of this goes on
//
// And what it is made of: peer.go, user.go, credentials.go, buffers.go, fds.go,
// timers.go, timing.go, and post.go, the door for everybody else.
package bus

import (
	"fmt"
	"log/slog"
	"time"

	"quartet/services/busd/internal/listen"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/rawio"
)

const (
	arenaSize    = 256 << 10 // what a turn routes before it sends
	arenaSlack   = 64 << 10  // what the message that fills it may go beyond
	bigMessage   = 32 << 10  // from here on one that comes in parts is not copied
	waitingChunk = 16 << 10  // at least, of what waits for a peer
)

// Bus is one message bus. Its methods may be called by the goroutine of Run
// alone, but for Post and Stop.
type Bus struct {
	opt      Options
	settings Settings // replaced whole by Apply
	log      *slog.Logger

	loop      loop
	posted    posted
	accepting accepting
	peers     peers
	users     users

	handled  handled
	matching matching
	names    names
	pendings pendings
	starts   starts
	reloads  reloads
	own      own

	sending sending
	unread  unread
	memory  memory

	stats Stats
	clock clock
}

// Options is what does not change while the bus runs.
type Options struct {
	GUID      string // 32 hexadecimal digits
	MachineID string // likewise; what Peer.GetMachineId answers, "" if unknown
	OwnUID    uint32
	OwnName   string

	// One peer's share of a turn while others wait. Alone it may fill it.
	BatchMessages int
	BatchBytes    int

	// SendTimeout is how long a peer may leave unread what waits for it; 0 is
	// for ever.
	SendTimeout time.Duration

	// Quota is what may wait on account of one user; Quotas are exceptions by
	// uid.
	Quota  Quota
	Quotas map[uint32]Quota

	// ReplyInvalid answers a call that has a valid header, and a body that is
	// invalid, with an error before its sender is disconnected.
	ReplyInvalid bool

	// Timing measures how long batches take; OnBatch is shown one in Sample of
	// them, by the bus thread.
	Timing  bool
	Sample  uint64
	OnBatch func(Batch)

	Log *slog.Logger

	Activation Activation // what starts programs; the zero value starts none

	// Reload reads the configuration anew and calls done, from anywhere, when
	// that has been applied, or with why it was not. nil: there is none.
	Reload func(done func(error))

	// Cookie makes a cookie for DBUS_COOKIE_SHA1 and calls done, from
	// anywhere. nil: the mechanism is not offered.
	Cookie func(done func(Cookie))

	// Verbose switches the log of every detail on or off. It may be nil. Its
	// interface is there in any case, and named among the others only with
	// AnnounceVerbose: a dbus-daemon that is not made for debugging has none.
	Verbose         func(on bool)
	AnnounceVerbose bool
}

// New makes a bus that listens. Unless it fails, the listeners are the bus's
// from here on.
func New(listeners []*listen.Listener, settings Settings, opt Options) (*Bus, error) {
	poll, err := rawio.NewPoll()
	if err != nil {
		return nil, err
	}
	b := &Bus{
		opt:      opt,
		settings: settings,
		log:      opt.Log,
		loop:     loop{poll: poll, now: time.Now()},
		peers:    peers{byID: map[uint64]*Peer{}},
		users:    users{byUID: map[int64]*user{}, policies: map[string]*policy.Client{}},
		sending:  sending{arena: make([]byte, 0, arenaSize+arenaSlack)},
		memory:   memory{inbuf: make([]byte, arenaSize)},
		clock:    clock{on: opt.Timing},
	}
	b.matching.visit.init(b)
	if err := b.open(listeners); err != nil {
		poll.Close()
		return nil, err
	}
	return b, nil
}

// open opens what the bus waits for.
func (b *Bus) open(listeners []*listen.Listener) error {
	if err := b.posted.open(); err != nil {
		return err
	}
	err := b.loop.poll.Add(b.posted.fd, rawio.In)
	for i := 0; i < len(listeners) && err == nil; i++ {
		err = b.addListener(listeners[i])
	}
	if err != nil {
		b.posted.free()
		return fmt.Errorf("wait for sockets: %w", err)
	}
	return nil
}
