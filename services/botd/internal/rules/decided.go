package rules

import (
	"errors"
	"maps"
	"time"

	"quartet/services/botd/internal/transport"
)

// decided is what holds. It does not change while others may ask, it is replaced
// by a changed copy.
type decided struct {
	groups   map[string]bool     // whether they are allowed, or forbidden
	people   map[string]struct{} // ignored
	switches map[place]setting
}

// place is a command in a chat.
type place struct {
	command string
	chat    transport.Chat
}

// setting is what was decided for a place. One without anything is not kept.
type setting struct {
	off  bool
	wait time.Duration // if set
	set  bool
}

func newDecided() *decided {
	return &decided{make(map[string]bool), make(map[string]struct{}), make(map[place]setting)}
}

// changedBy reports whether a decision changes anything, or why it cannot be taken.
func (d *decided) changedBy(c record) (bool, error) {
	var was, is, full bool
	switch c.Op {
	case allow, forbid:
		allowed, known := d.groups[c.Group]
		if known {
			return allowed != (c.Op == allow), nil
		}
		is, full = true, len(d.groups) >= maxGroups
	case ignore, hear:
		_, was = d.people[c.Person]
		is, full = c.Op == ignore, len(d.people) >= maxPeople
	case off, on, wait:
		old, known := d.switches[c.place()]
		if s := c.on(old); s == old || known {
			return s != old, nil
		}
		is, full = true, len(d.switches) >= maxSwitches
	default:
		return false, errors.New("no such decision")
	}
	if is && !was && full {
		return false, ErrTooMany
	}
	return was != is, nil
}

// copyFor is a copy that a decision may be taken into.
func (d *decided) copyFor(c record) *decided {
	n := *d
	switch c.Op {
	case allow, forbid:
		n.groups = maps.Clone(d.groups)
	case ignore, hear:
		n.people = maps.Clone(d.people)
	default:
		n.switches = maps.Clone(d.switches)
	}
	return &n
}

// take changes what holds.
func (d *decided) take(c record) {
	switch c.Op {
	case allow:
		d.groups[c.Group] = true
	case forbid:
		d.groups[c.Group] = false
	case ignore:
		d.people[c.Person] = struct{}{}
	case hear:
		delete(d.people, c.Person)
	default:
		d.switches[c.place()] = c.on(d.switches[c.place()])
		if d.switches[c.place()] == (setting{}) {
			delete(d.switches, c.place())
		}
	}
}

// place is where a decision about a command holds.
func (c record) place() place {
	return place{c.Command, transport.Chat{Group: c.Group, User: c.Person}}
}

// on is a setting with a decision about a command.
func (c record) on(s setting) setting {
	switch c.Op {
	case off, on:
		s.off = c.Op == off
	case wait:
		s.wait, s.set = max(c.Wait, 0), c.Wait >= 0
	}
	return s
}

// records are the decisions that lead to what holds.
func (d *decided) records(yield func(record) bool) {
	for group, allowed := range d.groups {
		c := record{Op: forbid, Group: group}
		if allowed {
			c.Op = allow
		}
		if !yield(c) {
			return
		}
	}
	for person := range d.people {
		if !yield(record{Op: ignore, Person: person}) {
			return
		}
	}
	for at, s := range d.switches {
		c := record{Group: at.chat.Group, Person: at.chat.User, Command: at.command}
		if c.Op = off; s.off && !yield(c) {
			return
		}
		if c.Op, c.Wait = wait, s.wait; s.set && !yield(c) {
			return
		}
	}
}
