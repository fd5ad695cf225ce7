package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"quartet/services/busd/internal/wire"
)

// MaxUnixFDs is the highest value of min_fds and max_fds: as many descriptors
// as a message of the largest size could index.
const MaxUnixFDs = 1 << 25

// Attr is an attribute of an <allow> or <deny> element.
type Attr struct{ Name, Value string }

// Rule is one <allow> or <deny>. Make it with ParseRule.
type Rule struct {
	Allow bool
	// File and Line are where the element begins, Text is the element.
	File string
	Line int
	Text string
	// Section is the attribute of the <policy> around it; Compile sets it.
	Section string

	kind kind
	// name is what own, own_prefix, user, group, send_destination,
	// send_destination_prefix or receive_sender say; empty for "*".
	name   string
	prefix bool
	match  match
}

type kind uint8

const (
	send kind = iota
	receive
	own
	connectUser
	connectGroup
)

// match is what a send or receive rule asks of a message. Empty strings and a
// zero type match all.
type match struct {
	typ                      wire.Type
	path, iface, member, err string
	broadcast, unicast       bool // send_broadcast="true", "false"
	minFDs, maxFDs           uint32
	eavesdrop, requested     bool
	log                      bool
}

// ParseRule makes a rule of an element's attributes, given in the order of
// the file. The error says what is wrong, without the position.
func ParseRule(allow bool, attrs []Attr, file string, line int) (Rule, error) {
	r := Rule{Allow: allow, File: file, Line: line, Text: text(allow, attrs)}
	given := map[string]string{}
	for _, a := range attrs {
		if _, known := attributes[a.Name]; !known {
			return Rule{}, fmt.Errorf("attribute %q is unknown", a.Name)
		}
		if _, twice := given[a.Name]; twice {
			return Rule{}, fmt.Errorf("attribute %q is given twice", a.Name)
		}
		given[a.Name] = a.Value
	}
	var err error
	if r.kind, err = kindOf(given); err != nil {
		return Rule{}, err
	}
	// By default an allow rule lets only requested replies through and a deny
	// rule stops only unrequested ones.
	r.match = match{maxFDs: MaxUnixFDs, requested: allow}
	for _, a := range attrs {
		if err := r.set(a.Name, a.Value); err != nil {
			return Rule{}, err
		}
	}
	return r, nil
}

// Connects is true for a rule about who may connect.
func (r *Rule) Connects() bool { return r.kind == connectUser || r.kind == connectGroup }

// attributes maps each attribute to the family that decides the kind of the
// rule; empty for modifiers of send and receive rules.
var attributes = map[string]string{
	"send_interface": "send", "send_member": "send", "send_error": "send", "send_destination": "send",
	"send_destination_prefix": "send", "send_path": "send", "send_type": "send", "send_broadcast": "send",
	"send_requested_reply": "send",
	"receive_interface":    "receive", "receive_member": "receive", "receive_error": "receive",
	"receive_sender": "receive", "receive_path": "receive", "receive_type": "receive",
	"receive_requested_reply": "receive",
	"own":                     "own", "own_prefix": "own_prefix", "user": "user", "group": "group",
	"eavesdrop": "", "min_fds": "", "max_fds": "", "log": "",
}

// kinds are the kinds that the families make.
var kinds = map[string]kind{
	"send": send, "receive": receive, "own": own, "own_prefix": own, "user": connectUser, "group": connectGroup,
}

// kindOf checks which attributes stand together and says what they make.
func kindOf(given map[string]string) (kind, error) {
	families := map[string]bool{}
	for name := range given {
		if f := attributes[name]; f != "" {
			families[f] = true
		}
	}
	has := func(name string) bool { _, ok := given[name]; return ok }
	// A lone eavesdrop is about receiving; beside send attributes it belongs to them.
	if has("eavesdrop") && !families["send"] {
		families["receive"] = true
	}
	if len(families) == 0 {
		return 0, errors.New("must have an attribute that says what it is about, for example send_destination, receive_sender, own or user")
	}
	if families["send"] && families["receive"] {
		return 0, errors.New("send and receive attributes cannot stand together: write two rules")
	}
	if len(families) > 1 {
		return 0, errors.New("own, own_prefix, user, group and attributes of messages cannot stand together: write one rule for each")
	}
	var k kind
	for f := range families {
		k = kinds[f]
	}
	if k != send && k != receive && (has("min_fds") || has("max_fds")) {
		return 0, errors.New("min_fds and max_fds can only stand beside send and receive attributes")
	}
	return k, checkFields(given, has)
}

// checkFields refuses rules about messages that could match nothing or more
// than their writer thinks.
func checkFields(given map[string]string, has func(string) bool) error {
	for _, side := range []string{"send", "receive"} {
		if has(side+"_member") && !has(side+"_interface") && !has(side+"_path") {
			return fmt.Errorf("%s_member needs %s_interface or %s_path beside it, because a message may come without interface", side, side, side)
		}
		if has(side+"_error") && (has(side+"_interface") || has(side+"_member")) {
			return fmt.Errorf("%s_error cannot stand beside %s_interface or %s_member", side, side, side)
		}
	}
	if has("send_destination") && has("send_destination_prefix") {
		return errors.New("send_destination and send_destination_prefix cannot stand together")
	}
	if given["send_broadcast"] == "true" && has("send_destination") && given["send_destination"] != "*" {
		return errors.New(`send_broadcast="true" with a send_destination matches nothing: a broadcast has no destination`)
	}
	return nil
}

// set takes one attribute into the rule.
func (r *Rule) set(name, value string) (err error) {
	starred := value // empty where the file says all
	if starred == "*" {
		starred = ""
	}
	m := &r.match
	switch name {
	case "own", "user", "group", "send_destination", "receive_sender":
		if value == "" {
			return fmt.Errorf(`%s is empty: write "*" for all`, name)
		}
		r.name = starred
	case "own_prefix", "send_destination_prefix":
		if value == "" || value == "*" {
			return fmt.Errorf("%s needs the beginning of a name", name)
		}
		r.name, r.prefix = value, true
	case "send_path", "receive_path":
		m.path = starred
	case "send_interface", "receive_interface":
		m.iface = starred
	case "send_member", "receive_member":
		m.member = starred
	case "send_error", "receive_error":
		m.err = starred
	case "send_type", "receive_type":
		m.typ, err = messageType(starred)
	case "send_requested_reply", "receive_requested_reply":
		m.requested, err = boolean(name, value)
	case "eavesdrop":
		m.eavesdrop, err = boolean(name, value)
	case "send_broadcast":
		m.broadcast, err = boolean(name, value)
		m.unicast = !m.broadcast
	case "min_fds":
		m.minFDs, err = fds(name, value)
	case "max_fds":
		m.maxFDs, err = fds(name, value)
	case "log":
		m.log = r.kind == send && value == "true"
	}
	return err
}

func messageType(value string) (wire.Type, error) {
	if value == "" {
		return 0, nil
	}
	if t, known := wire.ParseType(value); known {
		return t, nil
	}
	return 0, fmt.Errorf(`message type %q is unknown: it can be method_call, method_return, error, signal or "*"`, value)
}

func boolean(name, value string) (bool, error) {
	if value != "true" && value != "false" {
		return false, fmt.Errorf("%s=%q must be true or false", name, value)
	}
	return value == "true", nil
}

func fds(name, value string) (uint32, error) {
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil || n > MaxUnixFDs {
		return 0, fmt.Errorf("%s=%q must be a number from 0 to %d", name, value, MaxUnixFDs)
	}
	return uint32(n), nil
}

// text is the element as a person would write it.
func text(allow bool, attrs []Attr) string {
	var b strings.Builder
	b.WriteString("<deny")
	if allow {
		b.Reset()
		b.WriteString("<allow")
	}
	for _, a := range attrs {
		fmt.Fprintf(&b, " %s=%q", a.Name, a.Value)
	}
	b.WriteString("/>")
	return b.String()
}
