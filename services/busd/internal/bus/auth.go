package bus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/sasl"
)

// Cookie is what DBUS_COOKIE_SHA1 challenges a peer with; zero is none.
type Cookie = sasl.Cookie

var (
	errLateAuth   = errors.New("it did not authenticate and say Hello within auth_timeout")
	errMayNot     = errors.New("the policy does not let its user connect")
	errAnonymous  = errors.New("it is anonymous, and the configuration has no <allow_anonymous/>")
	errEarlyFDs   = errors.New("it sent file descriptors during authentication")
	errWrongNonce = errors.New("it did not send the nonce")
	errDeaf       = errors.New("it goes on to send authentication commands and leaves the answers unread")
)

// authenticate handles what a peer says before its first message. It returns
// how many bytes of data that was, and whether the message stream begins
// behind them.
func (b *Bus) authenticate(p *Peer, data []byte) (used int, done bool) {
	// A socket takes more answers than an honest client ever gets. Nobody is to
	// make the bus hold any before it knows who that is.
	if len(p.out.waiting) > 0 {
		b.drop(p, reasonAuth, errDeaf)
		return 0, false
	}
	if nonce := p.via.Nonce; nonce != nil && !p.nonceSent {
		if len(data) < len(nonce) {
			return 0, false
		}
		if string(data[:len(nonce)]) != string(nonce) {
			b.drop(p, reasonAuth, errWrongNonce)
			return 0, false
		}
		p.nonceSent = true
		used = len(nonce)
	}
	at := len(b.sending.arena)
	rest, answers, done, err := p.auth.Feed(data[used:], b.sending.arena)
	b.answerAuth(p, at, answers)
	if err != nil {
		b.deliver() // the last answer goes out before the connection ends
		b.drop(p, reasonAuth, err)
		return 0, false
	}
	if len(p.in.fds) > 0 && (!done || len(rest) == 0) { // else they may be a message's, which was read along
		b.drop(p, reasonInvalid, errEarlyFDs)
		return 0, false
	}
	used = len(data) - len(rest)
	if p.auth.NeedsCookie() {
		b.fetchCookie(p)
	}
	if !done || !b.recognize(p) {
		return used, false
	}
	if len(p.in.fds) > 0 && !p.fdsAllowed {
		b.drop(p, reasonInvalid, errUnasked)
		return used, false
	}
	return used, true
}

func (b *Bus) answerAuth(p *Peer, at int, answers []byte) {
	b.sending.arena = answers
	if len(answers) > at {
		if p.user == nil {
			p.user = b.join(p.who.uid, p.who.known)
		}
		b.queue(p, packet{at: at, n: len(answers) - at, payer: p.user})
	}
}

// fetchCookie has a cookie made elsewhere; the peer is not read meanwhile.
func (b *Bus) fetchCookie(p *Peer) {
	p.paused = true
	b.setEvents(p)
	b.opt.Cookie(func(c Cookie) {
		b.Post(func() {
			if p.state != authenticating {
				return
			}
			p.paused = false
			b.setEvents(p)
			at := len(b.sending.arena)
			answers, err := p.auth.Deliver(c, b.sending.arena)
			b.answerAuth(p, at, answers)
			if err != nil {
				b.deliver()
				b.drop(p, reasonAuth, err)
				return
			}
			p.in.ready = true // what came behind the command was not read yet
			b.loop.ready = append(b.loop.ready, p)
		})
	})
}

// recognize ends authentication: it is known now whom the peer acts for.
func (b *Bus) recognize(p *Peer) bool {
	id, fds := p.auth.Result()
	p.auth = nil
	p.fdsAllowed = fds
	p.state = nameless
	if p.who.known != id.UIDKnown {
		p.who = credentials{known: id.UIDKnown, uid: id.UID}
		if p.user != nil {
			b.leave(p.user)
			p.user = nil
		}
	}
	if p.user == nil {
		p.user = b.join(p.who.uid, p.who.known)
	}
	p.user.incomingFDs += len(p.in.fds)
	gids := b.policyGroups(p)
	if !p.who.known && !b.settings.AllowAnonymous {
		b.drop(p, reasonAuth, errAnonymous)
		return false
	}
	if p.who.known {
		if v := b.settings.Policy.MayConnect(policy.Identity{UID: p.who.uid, Known: true, GIDs: gids}, b.opt.OwnUID); !v.Allow {
			b.drop(p, reasonPolicy, fmt.Errorf("%w: %s", errMayNot, v))
			return false
		}
	}
	p.policy = b.policyFor(p, gids)
	return true
}

// policyGroups are a peer's groups where the policy asks for them.
func (b *Bus) policyGroups(p *Peer) []uint32 {
	if !b.settings.Policy.NamesGroups() {
		return nil
	}
	return b.groups(p)
}

// keptPolicies is how many compiled policies are kept for whoever comes next.
// With a user namespace of its own somebody can come as thousands of users, in
// any mixture of their groups.
const keptPolicies = 256

// policyFor is the policy for a peer; peers of the same user and groups who are
// at the console, or are not, share one.
func (b *Bus) policyFor(p *Peer, gids []uint32) *policy.Client {
	var scratch [128]byte
	key := append(scratch[:0], 0)
	console := p.who.known && b.settings.AtConsole != nil && b.settings.AtConsole(p.who.uid)
	if p.who.known {
		key[0] = 1
		if console {
			key[0] = 2
		}
		key = binary.LittleEndian.AppendUint32(key, p.who.uid)
	}
	for _, gid := range gids {
		key = binary.LittleEndian.AppendUint32(key, gid)
	}
	c := b.users.policies[string(key)]
	if c == nil {
		if len(b.users.policies) >= keptPolicies { // whoever has one goes on with it
			clear(b.users.policies)
		}
		c = b.settings.Policy.For(policy.Identity{UID: p.who.uid, Known: p.who.known, GIDs: gids, Console: console})
		b.users.policies[string(key)] = c
		b.log.Debug("policy compiled", slog.String("user", p.user.String()))
	}
	return c
}
