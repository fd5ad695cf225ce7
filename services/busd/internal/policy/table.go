package policy

import "quartet/services/busd/internal/wire"

// table has the rules that can apply to messages of one type in one direction.
// Most rules of a system bus are about one service, so they are found by name:
// a message passes the few rules for all names and those of its other side.
type table struct {
	any      []entry            // for every name; last rule first, as all lists here
	named    map[string][]entry // for one name
	prefixed []entry            // for a name and all below it
}

// entry is a rule and its place in the order of evaluation.
type entry struct {
	rule  *Rule
	order int
}

// add puts a rule into the tables of the types that it can match. Rules come
// last first.
func add(tables *[wire.Signal + 1]table, e entry) {
	for typ := range tables {
		if want := e.rule.match.typ; want == 0 || int(want) == typ {
			tables[typ].add(e)
		}
	}
}

func (t *table) add(e entry) {
	switch name := e.rule.name; {
	case e.rule.prefix:
		t.prefixed = append(t.prefixed, e)
	case name == "":
		t.any = append(t.any, e)
	default:
		if t.named == nil {
			t.named = map[string][]entry{}
		}
		t.named[name] = append(t.named[name], e)
	}
}

// question is a message on its way between a connection and another side.
type question struct {
	m                        *Message
	names                    Names
	receiving, eavesdropping bool
}

func (t *table) decide(q question) Verdict {
	best := entry{order: -1}
	best = q.last(t.any, best)
	if t.named != nil {
		for _, name := range q.names {
			best = q.last(t.named[name], best)
		}
	}
	if t.prefixed != nil {
		best = q.lastPrefixed(t.prefixed, best)
	}
	if best.rule == nil {
		return Verdict{}
	}
	v := Verdict{Allow: best.rule.Allow, Log: best.rule.match.log, Matched: 1, Rule: best.rule}
	if !v.Allow || v.Log {
		v.Matched = t.count(q)
	}
	return v
}

// last is the later one of best and the last rule of the list that matches.
func (q *question) last(list []entry, best entry) entry {
	for _, e := range list {
		if e.order < best.order {
			break
		}
		if q.matches(e.rule) {
			return e
		}
	}
	return best
}

func (q *question) lastPrefixed(list []entry, best entry) entry {
	for _, e := range list {
		if e.order < best.order {
			break
		}
		if q.names.under(e.rule.name) && q.matches(e.rule) {
			return e
		}
	}
	return best
}

// count is how many rules match.
func (t *table) count(q question) int {
	n := 0
	for _, e := range t.any {
		if q.matches(e.rule) {
			n++
		}
	}
	for _, name := range q.names {
		for _, e := range t.named[name] {
			if q.matches(e.rule) {
				n++
			}
		}
	}
	for _, e := range t.prefixed {
		if q.names.under(e.rule.name) && q.matches(e.rule) {
			n++
		}
	}
	return n
}

// under is true when one of the names is prefix or below it.
func (n Names) under(prefix string) bool {
	for _, name := range n {
		if name == prefix || below(name, prefix) {
			return true
		}
	}
	return false
}

// matches says whether the rule applies, type and name apart.
func (q *question) matches(r *Rule) bool {
	m, want := q.m, &r.match
	return q.wanted(r) && q.requested(r) &&
		// A message without interface is for every interface, so a rule for
		// one may refuse it and may not let it through (CVE-2008-0595).
		field(want.iface, m.Interface, !r.Allow) &&
		// Only replies lack path and member, and they are answers to a call
		// that had them: they pass, as in the reference implementation.
		field(want.member, m.Member, true) &&
		field(want.path, m.Path, true) &&
		field(want.err, m.ErrorName, !r.Allow) &&
		!(want.broadcast && !m.broadcast()) && !(want.unicast && m.broadcast()) &&
		m.UnixFDs >= want.minFDs && (want.maxFDs == MaxUnixFDs || m.UnixFDs <= want.maxFDs)
}

// wanted is about eavesdropping. An allow rule must say that it covers it; a
// deny rule that says so covers nothing else. Senders do not eavesdrop.
func (q *question) wanted(r *Rule) bool {
	if !q.receiving || q.eavesdropping == r.match.eavesdrop {
		return true
	}
	return r.Allow == r.match.eavesdrop
}

// requested is about replies nobody asked for: an allow rule passes them only
// with requested_reply="false" or eavesdrop="true"; a deny rule spares the
// requested ones unless it has requested_reply="true".
func (q *question) requested(r *Rule) bool {
	if q.m.Type != wire.MethodReturn && q.m.Type != wire.ErrorReply {
		return true
	}
	if r.Allow {
		return q.m.RequestedReply || !r.match.requested || r.match.eavesdrop
	}
	return !q.m.RequestedReply || r.match.requested
}

// field compares a field with what a rule wants; absent is the answer for a
// message without the field.
func field(want, have string, absent bool) bool {
	return want == "" || want == have || have == "" && absent
}

func (m *Message) broadcast() bool { return m.Type == wire.Signal && m.Destination == "" }

// permitsAll is true when for each type some rule allows all messages and no
// later one refuses any or wants them logged.
func permitsAll(tables *[wire.Signal + 1]table) bool {
	for typ := wire.MethodCall; typ <= wire.Signal; typ++ {
		if !tables[typ].permitsAll() {
			return false
		}
	}
	return true
}

func (t *table) permitsAll() bool {
	for _, e := range t.any {
		if e.rule.minds() {
			return false
		}
		if e.rule.unconditional() {
			return !t.mindsAfter(e.order)
		}
	}
	return false
}

// minds is true for a rule that makes its messages more than allowed.
func (r *Rule) minds() bool { return !r.Allow || r.match.log }

// mindsAfter is true when a rule for some name behind the place minds.
func (t *table) mindsAfter(order int) bool {
	for _, e := range t.prefixed {
		if e.order > order && e.rule.minds() {
			return true
		}
	}
	for _, list := range t.named {
		for _, e := range list {
			if e.order > order && e.rule.minds() {
				return true
			}
		}
	}
	return false
}

// unconditional is true for a rule for every name that matches all messages of
// its type, eavesdropped ones and unrequested replies too.
func (r *Rule) unconditional() bool {
	m := r.match
	plain := m.path == "" && m.iface == "" && m.member == "" && m.err == "" &&
		!m.broadcast && !m.unicast && m.minFDs == 0 && m.maxFDs == MaxUnixFDs
	if r.kind == send {
		return plain && (m.eavesdrop || !m.requested)
	}
	return plain && m.eavesdrop
}
