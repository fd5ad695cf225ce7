package bus

import (
	"errors"
	"fmt"
	"time"

	"quartet/services/busd/internal/rawio"
	"quartet/services/busd/internal/wire"
)

// maxPendingFDs is how many descriptors may wait for their messages: those of
// the message that is being received, and of one read behind it.
const maxPendingFDs = 2 * rawio.MaxFDs

var (
	errLostFDs   = errors.New("file descriptors that it sent were lost: this process may open no more (LimitNOFILE), or a security module kept them")
	errQuotaFDs  = errors.New("more file descriptors have come from its user, and no messages for them, than BUSD_USER_FDS")
	errUnasked   = errors.New("it sent file descriptors and had not negotiated them")
	errManyFDs   = errors.New("it sent file descriptors again and again, and no message for them")
	errPendingFD = errors.New("it sent file descriptors, and no message for them within pending_fd_timeout")
)

// receive takes a peer's share of the turn: what is there already, in one
// read. While others wait it is bounded, in bytes here and in messages below.
func (b *Bus) receive(p *Peer, alone bool) {
	if p.in.big != nil {
		b.receiveBig(p)
		return
	}
	data := p.in.rest()
	if !p.in.ready {
		kept := copy(b.memory.inbuf, data)
		room := b.memory.inbuf[kept:]
		if !alone && len(room) > b.opt.BatchBytes {
			room = room[:b.opt.BatchBytes]
		}
		n := b.read(p, room)
		if n == 0 {
			return
		}
		data = b.memory.inbuf[:kept+n]
	}
	used := b.handle(p, data, alone)
	if p.state != gone {
		b.dropSurplus(p, data[used:])
		b.keepRest(p, data[used:])
	}
}

// read reads once; 0 means that there is nothing to go on with.
func (b *Bus) read(p *Peer, room []byte) int {
	got, err := b.loop.raw.Receive(p.fd, room)
	switch {
	case err == rawio.ErrAgain:
		return 0
	case err != nil:
		b.drop(p, reasonGone, err)
		return 0
	}
	b.stats.Reads++
	b.stats.ReceivedBytes += uint64(got.N)
	if len(got.FDs) > 0 || got.Truncated {
		if !b.takeFDs(p, got) {
			return 0
		}
	}
	if got.N == 0 {
		b.drop(p, reasonClosed, nil)
	}
	return got.N
}

// takeFDs holds descriptors until the message comes that they belong to.
func (b *Bus) takeFDs(p *Peer, got rawio.Received) bool {
	began := len(p.in.fds) == 0
	b.hold(p, append(p.in.fds, got.FDs...))
	switch {
	case got.Truncated: // those that did arrive are closed with the peer (CVE-2020-12049)
		b.drop(p, reasonInvalid, errLostFDs)
		return false
	case len(p.in.fds) > maxPendingFDs:
		b.drop(p, reasonInvalid, errManyFDs)
		return false
	case p.state == authenticating: // whose they are is known in a moment, or they are refused
	case !p.fdsAllowed:
		b.drop(p, reasonInvalid, errUnasked)
		return false
	case p.user.incomingFDs > len(p.in.fds) && int64(p.user.incomingFDs) > p.user.fds.Stats().Capacity:
		b.drop(p, reasonQuota, errQuotaFDs)
		return false
	}
	if began {
		b.awaitMessage(p)
	}
	return true
}

// hold replaces the descriptors that wait for a peer's messages. Its user may
// have as many from all its connections as may wait on its account.
func (b *Bus) hold(p *Peer, fds []int) {
	more := len(fds) - len(p.in.fds)
	b.memory.openFDs += more
	if p.auth == nil {
		p.user.incomingFDs += more
	}
	if p.in.fds = fds; len(fds) == 0 {
		p.in.fds = nil
	}
}

// awaitMessage gives a peer that has sent descriptors time to send their message.
// Before Hello it has auth_timeout for all of it, which nothing extends.
func (b *Bus) awaitMessage(p *Peer) {
	if p.name == "" {
		return
	}
	b.cancel(&p.late)
	if len(p.in.fds) > 0 {
		limit := b.settings.Limits.PendingFDTimeout
		p.late.fire = func() {
			if p.in.ready { // a message of theirs has come, and waits for its turn
				b.set(&p.late, max(limit, time.Millisecond)) // due at once it would be so again and again, in this turn
				return
			}
			b.drop(p, reasonLate, errPendingFD)
		}
		b.set(&p.late, limit)
	}
}

// handle handles the messages in data, one after the other, and returns how
// many bytes they were.
func (b *Bus) handle(p *Peer, data []byte, alone bool) (used int) {
	if p.state == authenticating {
		p.in.ready = false
		n, done := b.authenticate(p, data)
		if !done {
			return n
		}
		used = n
	}
	began := used
	for messages := 1; ; messages++ {
		d := data[used:]
		header, total, ok := b.frame(p, d)
		if p.state == gone {
			return used
		}
		if p.in.ready = ok && total <= len(d); !p.in.ready {
			if ok && total >= bigMessage {
				b.beginBig(p, d, header, total)
				used = len(data)
			}
			return used
		}
		if !alone && (messages > b.opt.BatchMessages || used-began >= b.opt.BatchBytes) {
			return used
		}
		if len(b.sending.arena)+total > arenaSize {
			if messages > 1 { // what it brings about is as much as a share: others may have come meanwhile
				return used
			}
			b.flushEarly()
			if p.state == gone {
				return used
			}
		}
		b.message(p, d[:header], d[header:total], nil)
		if p.state == gone {
			return used
		}
		used += total
	}
}

// frame says how long the message is that d begins with; false if that cannot
// be told yet.
func (b *Bus) frame(p *Peer, d []byte) (header, total int, ok bool) {
	if len(d) < wire.FixedHeader {
		return 0, 0, false
	}
	header, total, err := wire.Frame(d)
	if err == nil && p.state == nameless && total > bigMessage {
		err = errNotHello // which is a small one
	}
	if err == nil && int64(total) > b.settings.Limits.MaxMessageSize {
		err = fmt.Errorf("its message of %d bytes is longer than max_message_size (%d)", total, b.settings.Limits.MaxMessageSize)
	}
	if err != nil {
		b.drop(p, reasonInvalid, err)
		return 0, 0, false
	}
	return header, total, true
}

// keepRest keeps what was not handled until more of it comes.
func (b *Bus) keepRest(p *Peer, rest []byte) {
	in := &p.in
	if len(rest) == 0 {
		if in.buf != nil {
			b.memory.buffers.put(in.buf)
			in.buf, in.at = nil, 0
		}
		return
	}
	if len(in.buf) > 0 && &rest[len(rest)-1] == &in.buf[len(in.buf)-1] {
		in.at = len(in.buf) - len(rest)
		return
	}
	buf := b.memory.buffers.get(len(rest))
	copy(buf, rest)
	if in.buf != nil {
		b.memory.buffers.put(in.buf)
	}
	in.buf, in.at = buf, 0
}

// beginBig goes on with a big message where it will stay: from here on it is
// not copied.
// What is under way from all connections of a user may be as much as may wait
// on its account, or one message.
func (b *Bus) beginBig(p *Peer, d []byte, header, total int) {
	if u := p.user; u.incoming > 0 && int64(u.incoming+total) > u.bytes.Stats().Capacity {
		b.drop(p, reasonQuota, fmt.Errorf("its message of %d bytes and the %d that are under way from uid %s are more than BUSD_USER_BYTES", total, u.incoming, u))
		return
	}
	p.user.incoming += total
	p.in.big = b.newBody(total)
	p.in.big.header = header
	p.in.got = copy(p.in.big.data, d)
}

func (b *Bus) receiveBig(p *Peer) {
	in := &p.in
	before := len(in.fds)
	n := b.read(p, in.big.data[in.got:])
	if before > 0 && p.state != gone {
		b.dropRepeated(p, before)
	}
	if in.got += n; n == 0 || in.got < len(in.big.data) {
		return
	}
	big := in.big
	in.big, in.got = nil, 0
	p.user.incoming -= len(big.data)
	b.message(p, big.data[:big.header], big.data[big.header:], big)
	b.releaseBody(big)
	if p.state != gone {
		b.dropSurplus(p, nil)
	}
}

// dropSurplus closes descriptors beyond those that the message announces of
// which rest is the beginning. Those of messages that were handled are claimed,
// and a later message's have not come: they come with its bytes.
func (b *Bus) dropSurplus(p *Peer, rest []byte) {
	if len(p.in.fds) == 0 || p.in.ready || p.in.big != nil || p.state == authenticating {
		return
	}
	announced := 0
	if len(rest) > 0 {
		if len(rest) < wire.FixedHeader {
			return
		}
		header, _, err := wire.Frame(rest)
		if err != nil || len(rest) < header || b.handled.msg.Parse(rest[:header]) != nil {
			return // it is found out in time
		}
		announced = int(b.handled.msg.UnixFDs)
	}
	if announced < len(p.in.fds) {
		b.dropRepeated(p, announced)
	}
	if announced == 0 {
		b.awaitMessage(p)
	}
}

// dropRepeated closes descriptors that came with a later part of a message
// that has some already: old versions of sd-bus send them with each part
// (systemd/systemd#6603).
func (b *Bus) dropRepeated(p *Peer, have int) {
	again := p.in.fds[have:]
	b.hold(p, p.in.fds[:have])
	closeAll(again)
}
