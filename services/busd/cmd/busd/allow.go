package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"quartet/services/busd/internal/daemon"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// question is whether a message may pass.
type question struct {
	sender, receiver party
	message          policy.Message
}

// party is one side of a message.
type party struct {
	identity policy.Identity
	names    policy.Names
}

func (p *party) isBus() bool { return len(p.names) == 1 && p.names[0] == wire.BusName }

// parseQuestion reads the three arguments of --would-allow.
func parseQuestion(sender, receiver, message string) (q question, err error) {
	if q.sender, err = parseParty(sender); err != nil {
		return q, fmt.Errorf("SENDER: %w", err)
	}
	if !q.sender.identity.Known && !q.sender.isBus() {
		return q, errors.New("SENDER: has no uid=, and rules are for users")
	}
	if q.receiver, err = parseParty(receiver); err != nil {
		return q, fmt.Errorf("RECEIVER: %w", err)
	}
	q.message.Type = wire.MethodCall
	if err := eachPair(message, q.set); err != nil {
		return q, fmt.Errorf("MESSAGE: %w", err)
	}
	if q.message.Destination == "" && q.message.Type != wire.Signal && len(q.receiver.names) > 0 {
		q.message.Destination = q.receiver.names[0]
	}
	return q, nil
}

// parseParty reads uid=…,gid=…,name=…, or a bus name alone.
func parseParty(text string) (p party, err error) {
	if !strings.Contains(text, "=") {
		text = "name=" + text
	}
	err = eachPair(text, p.set)
	return p, err
}

// set takes one key of a party.
func (p *party) set(key, value string) error {
	switch key {
	case "name":
		if !wire.ValidBusName(value) {
			return fmt.Errorf("%q is no bus name", value)
		}
		p.names = append(p.names, value)
	case "uid":
		id, err := numericID(key, value)
		p.identity.UID, p.identity.Known = id, true
		return err
	case "gid":
		id, err := numericID(key, value)
		p.identity.GIDs = append(p.identity.GIDs, id)
		return err
	default:
		return fmt.Errorf("%q is none of uid, gid and name", key)
	}
	return nil
}

func numericID(key, value string) (uint32, error) {
	id, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: it has to be a number, see id(1)", key, value)
	}
	return uint32(id), nil
}

func eachPair(text string, set func(key, value string) error) error {
	for pair := range strings.SplitSeq(text, ",") {
		key, value, is := strings.Cut(pair, "=")
		if !is || value == "" {
			return fmt.Errorf("%q is not key=value", pair)
		}
		if err := set(key, value); err != nil {
			return err
		}
	}
	return nil
}

// valid are the keys of MESSAGE whose values have a form.
var valid = map[string]func(string) bool{
	"interface": wire.ValidInterface, "member": wire.ValidMember, "path": wire.ValidPath, "error": wire.ValidErrorName, "destination": wire.ValidBusName,
}

// set takes one key of MESSAGE.
func (q *question) set(key, value string) (err error) {
	if is, has := valid[key]; has && !is(value) {
		return fmt.Errorf("%s=%s: no message can have this", key, value)
	}
	m := &q.message
	switch key {
	case "type":
		known := false
		if m.Type, known = wire.ParseType(value); !known {
			return fmt.Errorf("type=%s: it is method_call, method_return, error or signal", value)
		}
	case "interface":
		m.Interface = value
	case "member":
		m.Member = value
	case "path":
		m.Path = value
	case "error":
		m.ErrorName = value
	case "destination":
		m.Destination = value
	case "fds":
		var n uint64
		n, err = strconv.ParseUint(value, 10, 32)
		m.UnixFDs = uint32(n)
	case "requested_reply":
		m.RequestedReply, err = strconv.ParseBool(value)
	default:
		return fmt.Errorf("%q is none of type, interface, member, path, error, destination, fds and requested_reply", key)
	}
	if err != nil {
		return fmt.Errorf("%s=%s: %w", key, value, err)
	}
	return nil
}

// on is the identity as the bus of a configuration sees it.
func (p *party) on(l *daemon.Loaded) policy.Identity {
	id := p.identity
	id.Console = id.Known && l.Settings.AtConsole != nil && l.Settings.AtConsole(id.UID)
	return id
}

// answer prints each verdict and where it comes from. It returns errRefused
// when one of them is a refusal.
func (q *question) answer(out io.Writer, l *daemon.Loaded) error {
	own, err := l.UID()
	if err != nil {
		return err
	}
	set, p := l.Settings.Policy, printer{out: out, allowed: true}
	if sender := q.sender.on(l); !q.sender.isBus() {
		p.say("connect", set.MayConnect(sender, own))
		p.say("send", set.For(sender).CanSend(&q.message, q.receiver.names))
	}
	switch {
	case q.receiver.isBus():
	case q.receiver.identity.Known:
		p.say("receive", set.For(q.receiver.on(l)).CanReceive(&q.message, q.sender.names, false))
	default:
		fmt.Fprintln(out, "receive  unknown: RECEIVER has no uid=")
	}
	return p.err()
}

// claim is whether a client may own a name.
type claim struct {
	sender party
	name   string
}

// parseClaim reads the two arguments of --would-own.
func parseClaim(sender, name string) (c claim, err error) {
	if c.sender, err = parseParty(sender); err != nil {
		return c, fmt.Errorf("SENDER: %w", err)
	}
	if !c.sender.identity.Known {
		return c, errors.New("SENDER: has no uid=, and rules are for users")
	}
	if c.name = name; !wire.ValidWellKnown(name) || name == wire.BusName {
		return c, fmt.Errorf("NAME: %q is none that a client can own", name)
	}
	return c, nil
}

// answer is like that of a question.
func (c claim) answer(out io.Writer, l *daemon.Loaded) error {
	own, err := l.UID()
	if err != nil {
		return err
	}
	set, p := l.Settings.Policy, printer{out: out, allowed: true}
	sender := c.sender.on(l)
	p.say("connect", set.MayConnect(sender, own))
	p.say("own", set.For(sender).CanOwn(c.name))
	return p.err()
}

// printer prints verdicts.
type printer struct {
	out     io.Writer
	allowed bool // by all of them
}

func (p *printer) say(what string, v policy.Verdict) {
	fmt.Fprintf(p.out, "%-8s %s\n", what, v)
	p.allowed = p.allowed && v.Allow
}

func (p *printer) err() error {
	if !p.allowed {
		return errRefused
	}
	return nil
}
