package differential_test

import (
	"fmt"
	"strings"
)

// rule is a match rule of any kind, and now and then none.
func (m *maker) rule() string {
	if m.chance(8) {
		return ""
	}
	if m.chance(8) {
		return m.brokenRule()
	}
	var items []string
	add := func(key, value string) { items = append(items, key+"="+m.quoted(value)) }
	if m.chance(50) {
		add("type", one(m, "signal", "signal", "method_call", "method_return", "error"))
	}
	if m.chance(25) {
		add("sender", one(m, m.unique(), m.unique(), m.name(), busName))
	}
	if m.chance(30) {
		add("interface", one(m, m.iface(), m.iface(), busName))
	}
	if m.chance(25) {
		add("member", one(m, m.member(), m.member(), "NameOwnerChanged", "NameAcquired"))
	}
	switch m.IntN(6) {
	case 0:
		add("path", m.path())
	case 1:
		add("path_namespace", m.path())
	}
	if m.chance(12) {
		add("destination", one(m, m.unique(), m.unique(), m.name()))
	}
	for range one(m, 0, 0, 0, 1, 1, 2) {
		m.argumentRule(add)
	}
	if m.chance(25) {
		add("eavesdrop", one(m, "true", "true", "true", "false"))
	}
	m.Shuffle(len(items), func(i, k int) { items[i], items[k] = items[k], items[i] })
	return strings.Join(items, one(m, ",", ",", ",", ", ")) + one(m, "", "", "", ",")
}

func (m *maker) argumentRule(add func(key, value string)) {
	n := one(m, 0, 0, 0, 1, 1, 2, 63)
	switch m.IntN(4) {
	case 0:
		add(fmt.Sprintf("arg%dpath", n), one(m, "/", "/a", "/a/", "/a/b", "x", ""))
	case 1:
		add("arg0namespace", one(m, "com", "com.example", "com.example.A", "org.freedesktop", "<0>"))
	default:
		add(fmt.Sprintf("arg%d", n), m.argument())
	}
}

// quoted writes a value in one of the ways that the grammar has.
func (m *maker) quoted(s string) string {
	apostrophes := strings.ReplaceAll(s, "'", `'\''`)
	switch {
	case m.chance(80) || strings.ContainsAny(s, `,'\ `):
		return "'" + apostrophes + "'"
	case m.chance(50):
		return s
	}
	half := len(s) / 2
	if !strings.Contains(s, "<") && half > 0 && s[half]&0xC0 != 0x80 && s[half-1] < 0x80 {
		return s[:half] + "'" + s[half:] + "'"
	}
	return s
}

func (m *maker) brokenRule() string {
	return one(m, "x", "type='nothing'", "type=", "type='signal',type='signal'", "type='signal", ",", "type='signal',,member='M'",
		"arg64='x'", "arg-1='x'", "argx='x'", "arg00='x'", "arg='x'", "arg0='x',arg0='y'", "arg0='x',arg0path='/'", "arg0namespace='com',arg0='x'",
		"arg1namespace='com'", "arg0namespace='a..b'", "arg0foo='x'", "path='a'", "path_namespace='/a/'", "path='/a',path_namespace='/a'",
		"interface='a'", "interface='1.a'", "member='a.b'", "sender='a'", "sender=''", "destination='no'", "eavesdrop='yes'", "eavesdrop='true',eavesdrop='true'",
		"='x'", "a b='x'", " type = 'signal'", "type ='signal'", "\ttype='signal'", "type='signal' ,member='M'", "==type='signal'", "member='M'x", `member=\M`,
		"nothing='x'", "TYPE='signal'", "arg0='"+strings.Repeat("x", 1100)+"'", "type='signal',", "path='/',member=", "arg063='x'", "arg007='x'")
}
