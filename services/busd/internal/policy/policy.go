// Package policy decides what a connection may do on a bus: connect, own a
// name, send a message, receive one. It has the meaning of dbus-daemon(1)'s
// <policy>, <allow> and <deny> elements; package busconf reads them.
//
// The stages: ParseRule reads one <allow> or <deny> (rule.go); Compile turns
// sections into a Set and user names into ids (this file); Set.For picks and
// indexes the rules of one identity (client.go); Client.CanSend and its
// siblings decide (client.go, verdict.go).
//
// The guarantee: the last rule that matches wins, what no rule matches is
// refused, and a verdict names the rule it comes from. A Set and a Client
// never change, so any number of goroutines may ask them; asking allocates
// nothing. The package does not know who owns a name or whether a reply was
// asked for: the caller says so.
package policy

import (
	"fmt"
	"slices"
	"strconv"
)

// Context says which connections a section is for. Its values are in the
// order of evaluation: a later one overrides an earlier one.
type Context uint8

// The contexts of a <policy> element.
const (
	Default Context = iota
	Group
	User
	AtConsole
	NotAtConsole
	Mandatory
)

// Section is one <policy> element.
type Section struct {
	Context Context
	// Name is the user or group, by name or number; empty in other contexts.
	Name  string
	Rules []Rule
	// File and Line are where the element begins.
	File string
	Line int
}

// String is the section as the attribute that makes it one: user="root".
func (s *Section) String() string {
	switch s.Context {
	case Group:
		return "group=" + strconv.Quote(s.Name)
	case User:
		return "user=" + strconv.Quote(s.Name)
	case AtConsole:
		return `at_console="true"`
	case NotAtConsole:
		return `at_console="false"`
	case Mandatory:
		return `context="mandatory"`
	}
	return `context="default"`
}

// Resolver turns names of users and groups into ids; false for a name that
// nobody has. Numbers are never asked for.
type Resolver struct {
	User, Group func(name string) (id uint32, ok bool)
}

// Warning is something in the configuration that has no effect. Its line is 0
// when a file as a whole is meant.
type Warning struct {
	File    string
	Line    int
	Message string
}

// String is the warning as file:line: message.
func (w Warning) String() string {
	if w.Line == 0 {
		return w.File + ": " + w.Message
	}
	return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Message)
}

// Identity is who a connection authenticated as.
type Identity struct {
	UID uint32
	// Known is false for an anonymous connection: rules for users, groups and
	// the console do not apply to it.
	Known bool
	// GIDs are all groups of the connection, the primary one too; any order.
	GIDs    []uint32
	Console bool
}

// Set is a compiled policy: what all sections say about everybody.
type Set struct {
	parts   []part        // in the order of evaluation
	connect []connectRule // likewise
}

// part is a section whose user or group is known by id.
type part struct {
	context Context
	id      uint32
	rules   []*Rule
}

// connectRule is an <allow user=…> or <deny group=…>.
type connectRule struct {
	rule *Rule
	any  bool
	id   uint32
}

// Compile makes a Set of sections in the order of the configuration. Names
// that resolve does not know make their section or rule void, with a warning:
// compile anew when the user data base may have changed.
func Compile(sections []Section, resolve Resolver) (*Set, []Warning) {
	c := compiler{resolve: resolve, set: &Set{}}
	for context := Default; context <= Mandatory; context++ {
		for i := range sections {
			if sections[i].Context == context {
				c.section(&sections[i])
			}
		}
	}
	return c.set, c.warnings
}

type compiler struct {
	resolve  Resolver
	set      *Set
	warnings []Warning
}

func (c *compiler) section(s *Section) {
	p := part{context: s.Context}
	if s.Context == User || s.Context == Group {
		id, ok := c.id(s.Context, s.Name)
		if !ok {
			c.warn(s.File, s.Line, "%s is unknown here: its <policy> applies to nobody until it exists and the configuration is reloaded", s)
			return
		}
		p.id = id
	}
	for i := range s.Rules {
		// Copied, so that the caller may go on with its sections.
		r := s.Rules[i]
		r.Section = s.String()
		if r.Connects() {
			c.connect(s, &r)
			continue
		}
		p.rules = append(p.rules, &r)
	}
	c.set.parts = append(c.set.parts, p)
}

// connect takes a rule about connecting: who may connect is decided before
// there is a connection, so only sections for everybody can say it.
func (c *compiler) connect(s *Section, r *Rule) {
	if s.Context != Default && s.Context != Mandatory {
		c.warn(r.File, r.Line, "%s has no effect in a <policy %s>", r.Text, s)
		return
	}
	rule := connectRule{rule: r, any: r.name == ""}
	if !rule.any {
		context := User
		if r.kind == connectGroup {
			context = Group
		}
		id, ok := c.id(context, r.name)
		if !ok {
			c.warn(r.File, r.Line, "%s names nobody known here: it has no effect until the name exists and the configuration is reloaded", r.Text)
			return
		}
		rule.id = id
	}
	c.set.connect = append(c.set.connect, rule)
}

// id resolves a user (context User) or a group.
func (c *compiler) id(context Context, name string) (uint32, bool) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), true
	}
	lookup := c.resolve.User
	if context == Group {
		lookup = c.resolve.Group
	}
	if lookup == nil {
		return 0, false
	}
	return lookup(name)
}

func (c *compiler) warn(file string, line int, format string, args ...any) {
	c.warnings = append(c.warnings, Warning{file, line, fmt.Sprintf(format, args...)})
}

// applies says whether the part is for connections of this identity.
func (p *part) applies(id *Identity) bool {
	switch p.context {
	case Default, Mandatory:
		return true
	case Group:
		return id.Known && slices.Contains(id.GIDs, p.id)
	case User:
		return id.Known && id.UID == p.id
	case AtConsole:
		return id.Known && id.Console
	}
	return id.Known && !id.Console
}

// For is the policy for connections of one identity. It costs a pass over all
// rules: keep the Client and share it among connections of the same identity.
func (s *Set) For(id Identity) *Client {
	var rules []*Rule
	for i := range s.parts {
		if s.parts[i].applies(&id) {
			rules = append(rules, s.parts[i].rules...)
		}
	}
	return newClient(rules)
}

// NamesGroups says whether it makes a difference which groups a connection
// has.
func (s *Set) NamesGroups() bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return p.context == Group }) ||
		slices.ContainsFunc(s.connect, func(c connectRule) bool { return c.rule.kind == connectGroup })
}

// MayConnect decides whether a connection may stay. Where no rule speaks of
// the user, only the bus's own user (ownUID) may. Anonymous connections are
// refused: <allow_anonymous/>, not the policy, lets them in.
func (s *Set) MayConnect(id Identity, ownUID uint32) Verdict {
	if !id.Known {
		return Verdict{}
	}
	v := Verdict{Allow: id.UID == ownUID}
	for i := range s.connect {
		c := &s.connect[i]
		hit := c.any || c.rule.kind == connectUser && c.id == id.UID ||
			c.rule.kind == connectGroup && slices.Contains(id.GIDs, c.id)
		if hit {
			v = Verdict{Allow: c.rule.Allow, Matched: v.Matched + 1, Rule: c.rule}
		}
	}
	return v
}
