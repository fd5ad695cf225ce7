package bus

import (
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/listen"
	"quartet/services/busd/internal/rawio"
	"quartet/services/busd/internal/sasl"
)

// acceptsATurn bounds how many connections one listener opens in a turn. A
// listener that had nothing in the turn before opens one: there
// is seldom a second one, and to ask for it costs a system call.
const acceptsATurn = 64

// shortPause is how long nobody is accepted when this process may not open
// more file descriptors, unless one is freed before.
const shortPause = time.Second

// shortSilence is how long the log does not repeat that: every descriptor that
// is freed may be taken at once, by whoever connects again and again.
const shortSilence = 10 * time.Second

// accepting is how connections begin.
type accepting struct {
	listeners  []*listener
	incomplete int  // connected, and Hello not said
	full       bool // those are too many: nobody is accepted

	short bool      // no file descriptors are left: likewise
	again timer     // for another look
	told  time.Time // when that was logged last
}

type listener struct {
	*listen.Listener
	armed bool
	last  uint64 // the turn in which it had a connection
}

func (b *Bus) addListener(l *listen.Listener) error {
	b.accepting.listeners = append(b.accepting.listeners, &listener{Listener: l})
	return b.arm()
}

// arm begins or ends to wait for new connections: none are taken while too
// many are half open, or while there are no file descriptors for them. They
// wait in the kernel meanwhile and are not turned away (CVE-2014-3639).
func (b *Bus) arm() error {
	want := !b.accepting.short && !b.accepting.full && !b.loop.stopping
	for _, l := range b.accepting.listeners {
		if l.armed == want {
			continue
		}
		if !want {
			b.loop.poll.Remove(l.FD)
		} else if err := b.loop.poll.Add(l.FD, rawio.In); err != nil {
			return err
		}
		l.armed = want
	}
	return nil
}

// rearm is arm where the bus goes on whatever becomes of it.
func (b *Bus) rearm() {
	if err := b.arm(); err != nil {
		b.log.Error("listening socket cannot be waited for", slog.Any("err", err))
	}
}

func (b *Bus) accept(l *listener) {
	most := 1
	if l.last+1 == b.loop.turn {
		most = acceptsATurn
	}
	l.last = b.loop.turn
	for range most {
		if !l.armed {
			return
		}
		fd, err := rawio.Accept(l.FD)
		switch {
		case err == nil:
			b.admit(l, fd)
		case errors.Is(err, rawio.ErrAgain):
			return
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
			b.runShort(err)
			return
		default: // the connection has gone again, or the network had an error
		}
	}
}

// runShort stops accepting until a descriptor is freed, and looks again after
// a moment, because another part of the process may free one as well, and
// memory is freed by others.
func (b *Bus) runShort(err error) {
	a := &b.accepting
	a.short = true
	b.stats.Shortages++
	if b.loop.now.Sub(a.told) >= shortSilence {
		a.told = b.loop.now
		b.log.Warn("no connections are accepted for the moment: "+remedy(err), slog.Any("err", err), slog.Int("connections", b.connections()))
	}
	b.rearm()
	a.again.fire = b.fdFreed
	b.set(&a.again, shortPause)
}

// remedy is what to do about it.
func remedy(err error) string {
	switch {
	case errors.Is(err, unix.EMFILE):
		return "this process may open no more files, raise its limit (LimitNOFILE, ulimit -n)"
	case errors.Is(err, unix.ENFILE):
		return "this machine may open no more files, raise fs.file-max"
	}
	return "the kernel has no memory for them, free some"
}

// fdFreed goes on accepting.
func (b *Bus) fdFreed() {
	if b.accepting.short {
		b.accepting.short = false
		b.cancel(&b.accepting.again)
		b.rearm()
	}
}

// admit takes on a connection.
func (b *Bus) admit(l *listener, fd int) {
	p := &Peer{fd: fd, via: l, events: rawio.In}
	if l.Unix {
		p.who = peerCredentials(fd)
	}
	if err := b.loop.poll.Add(fd, rawio.In); err != nil {
		b.log.Warn("connection refused: it cannot be waited for", slog.Any("err", err))
		rawio.Close(fd)
		return
	}
	for len(b.peers.byFD) <= fd {
		b.peers.byFD = append(b.peers.byFD, nil)
	}
	b.peers.byFD[fd] = p
	p.auth = sasl.New(sasl.Config{
		GUID:        b.opt.GUID,
		Allowed:     b.mechanisms(),
		CanPassFDs:  l.Unix,
		Credentials: sasl.Credentials{UID: p.who.uid, Known: p.who.known},
		OwnUID:      b.opt.OwnUID,
		OwnName:     b.opt.OwnName,
	})
	p.late.fire = func() { b.drop(p, reasonLate, errLateAuth) }
	b.set(&p.late, b.settings.Limits.AuthTimeout)
	b.stats.Accepted++
	b.accepting.incomplete++
	b.countIncomplete()
}

func (b *Bus) mechanisms() sasl.Mechanisms {
	m := b.settings.Mechanisms
	m.Anonymous = m.Anonymous && b.settings.AllowAnonymous
	m.CookieSHA1 = m.CookieSHA1 && b.opt.Cookie != nil
	return m
}

// countIncomplete looks whether as many connections as may are half open.
func (b *Bus) countIncomplete() {
	if full := b.accepting.incomplete >= b.settings.Limits.MaxIncompleteConnections; full != b.accepting.full {
		b.accepting.full = full
		b.rearm()
	}
}

func (b *Bus) connections() int { return b.accepting.incomplete + b.peers.completed }
