package differential_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

const (
	busName     = "org.freedesktop.DBus"
	busPath     = "/org/freedesktop/DBus"
	errorPrefix = "org.freedesktop.DBus.Error."
)

// What a step does.
type deed uint8

const (
	connects   deed = iota // authenticates, in steps or all at once
	says                   // sends messages, in one write
	replies                // answers a call that it has received, or pretends to
	spoils                 // sends bytes that no message may have
	watches                // becomes a monitor
	leaves                 // closes the connection
	oversleeps             // lets calls run into their time limit
)

var deeds = [...]string{"connects", "says", "replies", "spoils", "watches", "leaves", "oversleeps"}

// A step is what one connection does before any other does something. Steps
// hold nothing that a bus decides, so the same can be done on each.
type step struct {
	deed     deed
	who      int
	fds      bool      // connects: negotiates them
	hello    bool      // connects: says Hello at once
	messages []message // says: all; replies: the answer without its serial; watches: the call
	pick     int       // replies: which call; negative is one that is answered already, or never was
	spoil    func(b []byte) []byte
	pieces   bool // written in two pieces
	note     string
}

func (s step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<%d> %s %s", s.who, deeds[s.deed], s.note)
	for _, m := range s.messages {
		fmt.Fprintf(&b, "\n        %v", m)
	}
	return b.String()
}

// A maker draws a session: what is drawn depends on the seed alone.
type maker struct {
	*rand.Rand
	world  world
	conns  int // so far
	passes map[int]bool
	steps  []step
	rules  []string // that were added

	namespaces map[string]bool // all rules that were added and have a path_namespace
}

// draw is the session of a seed.
func draw(w world, seed uint64) []step {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, w.seed())), world: w, passes: map[int]bool{}, namespaces: map[string]bool{}}
	for range 2 + m.IntN(3) {
		m.connect()
	}
	for range 15 + m.IntN(30) {
		m.step()
	}
	return m.steps
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

func one[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

func (m *maker) add(s step) { m.steps = append(m.steps, s) }

func (m *maker) connect() {
	fds, hello := m.chance(60), m.chance(92)
	m.passes[m.conns] = fds
	m.add(step{deed: connects, who: m.conns, fds: fds, hello: hello, pieces: m.chance(30), note: fmt.Sprintf("fds %v hello %v", fds, hello)})
	m.conns++
	if !hello && m.chance(60) {
		m.add(step{deed: says, who: m.conns - 1, messages: []message{driver("Hello")}})
	}
}

func (m *maker) who() int { return m.IntN(m.conns) }

func (m *maker) step() {
	who := m.who()
	switch n := m.IntN(100); {
	case n < 3 && m.conns < 8:
		m.connect()
	case n < 6:
		m.add(step{deed: leaves, who: who})
	case n < 9:
		m.spoil(who)
	case n < 11:
		m.add(step{deed: watches, who: who, messages: []message{m.becomeMonitor()}})
	case n < 26:
		m.reply(who)
	case n < 27 && m.world.sleeps:
		m.add(step{deed: oversleeps, who: who})
	default:
		s := step{deed: says, who: who, pieces: m.chance(10)}
		for range one(m, 1, 1, 1, 1, 2, 3, 6) {
			s.messages = append(s.messages, m.message(who))
		}
		m.add(s)
	}
}

func (m *maker) message(who int) message {
	var out message
	switch n := m.IntN(100); {
	case n < 18:
		out = m.names()
	case n < 36:
		out = m.matching()
	case n < 52:
		out = m.question()
	case n < 76:
		out = m.call()
	case n < 96:
		out = m.signal()
	default:
		return m.odd()
	}
	if m.chance(12) && out.get(fieldDestination) != busName && (out.kind == signal || out.get(fieldDestination) != "") && (m.passes[who] || m.chance(10)) {
		out.fds = one(m, 1, 1, 2, 3)
		if m.strangers() {
			out.flags |= noReply
		}
	}
	m.disguise(&out)
	return out
}

// strangers says whether some connections may not have descriptors. What is
// sent to them with some must not want a reply: dbus-daemon answers NotSupported
// and goes on waiting for a reply, so that there is a second answer, NoReply,
// when either side leaves.
func (m *maker) strangers() bool {
	for who := range m.conns {
		if !m.passes[who] {
			return true
		}
	}
	return false
}

// disguise changes what no bus may care about, or has to look after.
func (m *maker) disguise(out *message) {
	out.big = m.chance(15)
	if m.chance(6) {
		out.flags |= byte(m.IntN(256)) &^ noReply
	}
	if m.chance(8) {
		out.fields = append(out.fields, field{byte(fieldUnknown) + byte(m.IntN(3)), m.value(2)})
	}
	if m.chance(4) && out.get(fieldDestination) != "" { // which dbus-daemon's library believes
		out.field(fieldSender, one(m, ":1.888888", "<0>", "<1>", busName, "com.example.A"))
	}
	if m.chance(20) {
		m.Shuffle(len(out.fields), func(i, k int) { out.fields[i], out.fields[k] = out.fields[k], out.fields[i] })
	}
	if to := out.get(fieldDestination); m.chance(2) && to != busName && (to != "" || out.kind != call) {
		out.serial = 1 + uint32(m.IntN(6))
	}
}

// The pools are small, so that what is drawn has to do with each other.

func (m *maker) path() string {
	return one(m, "/", "/a", "/a/b", "/a/bc", "/a/b/c", busPath, "/org/freedesktop")
}

func (m *maker) iface() string {
	return one(m, "com.example.I", "com.example.I", "com.example.J", "com.example.J.K", "org.freedesktop.DBus.Peer")
}

func (m *maker) member() string { return one(m, "M", "M", "N", "Ping", "Other") }

func (m *maker) name() string {
	return one(m, "com.example.A", "com.example.A", "com.example.A.B", "com.example.C", "com.example.D", "com.example_x.y-z")
}

func (m *maker) unique() string {
	if m.chance(5) {
		return one(m, ":1.987654321", ":2.1", ":x.y", ":1.01")
	}
	return fmt.Sprintf("<%d>", m.who())
}

func (m *maker) anyName() string {
	switch n := m.IntN(20); {
	case n < 8:
		return m.unique()
	case n < 16:
		return m.name()
	case n < 18:
		return busName
	}
	return one(m, "", "com", "com.", ".com.a", "com.example.Missing", "com.1a.b", "org.freedesktop.DBus.X", "a b.c", ":", strings.Repeat("a.", 127)+"bc")
}

// destination is a name that a message may be for, which is any valid one:
// others end the connection, see spoil_test.go.
func (m *maker) destination() string {
	return one(m, m.unique(), m.unique(), m.name(), m.name(), m.name(), "com.example.Missing", strings.Repeat("a.", 126)+"bcd")
}

func (m *maker) argument() string {
	return one(m, "", "x", "/a", "/a/", "/a/b", "com.example.A", "com.example.A.B", "com", "org.freedesktop.DBus", "<0>", "it's", `b\c,d`, "żółw")
}

// value is any value of at most that many containers.
func (m *maker) value(depth int) value {
	n := m.IntN(20)
	switch {
	case depth == 0 || n < 12:
		return m.basic()
	case n < 14:
		return variant(m.value(depth - 1))
	case n < 16:
		s := structure(m.value(depth-1), m.value(depth-1))
		return s
	case n < 18:
		first := m.value(depth - 1)
		v := array(first.sig)
		if m.chance(80) {
			v.in = []value{first, first}
		}
		return v
	}
	e := entry(m.basic(), m.value(depth-1))
	return value{sig: "a" + e.sig, in: []value{e}}
}

func (m *maker) basic() value {
	switch sig := one(m, "y", "b", "n", "q", "i", "u", "x", "t", "d", "s", "s", "s", "o", "g"); sig {
	case "s":
		return text(m.argument())
	case "o":
		return value{sig: sig, s: m.path()}
	case "g":
		return value{sig: sig, s: one(m, "", "s", "a{sv}", "(ii)ay")}
	case "b":
		return value{sig: sig, n: m.Uint64() & 1}
	default:
		return value{sig: sig, n: m.Uint64() >> (64 - 8*sizes[sig[0]])}
	}
}

func (m *maker) arguments() (list []value) {
	for range one(m, 0, 0, 1, 1, 2, 3) {
		if m.chance(60) {
			list = append(list, text(m.argument()))
		} else {
			list = append(list, m.value(3))
		}
	}
	return list
}

func (m *maker) call() message {
	out := to(m.destination(), m.path(), one(m, m.iface(), m.iface(), ""), m.member(), m.arguments()...)
	if m.chance(4) {
		out = to("", m.path(), one(m, m.iface(), "org.freedesktop.DBus.Peer", busName), one(m, m.member(), "Ping", "GetMachineId"))
	}
	if m.chance(15) && out.get(fieldDestination) != "" { // dbus-daemon's library answers all the same
		out.flags |= noReply
	}
	if m.chance(10) {
		out.flags |= noStart
	}
	if m.chance(3) {
		out.kind = answer
		out.number(fieldReplySerial, uint32(1+m.IntN(9)))
		out = m.unlikePeer(out)
	}
	return out
}

func (m *maker) signal() message {
	out := to("", m.path(), m.iface(), m.member(), m.arguments()...)
	if m.chance(30) {
		out = to(one(m, m.destination(), m.destination(), m.destination(), busName), m.path(), m.iface(), m.member(), m.arguments()...)
	}
	out.kind = signal
	if m.chance(50) {
		out.flags = noReply
	}
	return m.unlikePeer(out)
}

// unlikePeer spares the interface Peer in what is for nobody and no call.
// dbus-daemon's library answers those with an error and keeps them for itself,
// signals too, which the specification wants broadcast.
func (m *maker) unlikePeer(out message) message {
	if out.get(fieldDestination) != "" {
		return out
	}
	for i, f := range out.fields {
		if f.code == fieldInterface && f.of.s == busName+".Peer" {
			out.fields[i].of.s = "com.example.I"
		}
	}
	return out
}

// reply answers a call: once, twice, wrongly, to somebody else.
func (m *maker) reply(who int) {
	out := message{kind: one[byte](m, answer, answer, answer, failure), body: m.arguments(), flags: one[byte](m, 0, noReply)}
	if out.kind == failure {
		out.field(fieldError, one(m, "com.example.Error.X", "com.example.Error.Y", errorPrefix+"Failed"))
	}
	if m.passes[who] && m.chance(10) {
		out.fds = 1
	}
	out.big = m.chance(15)
	pick := m.IntN(4)
	note := fmt.Sprintf("to call %d that it has received", pick)
	switch n := m.IntN(20); {
	case n < 2:
		pick, note = -1, "again to a call that it has answered"
	case n < 3:
		pick, note = -2, "to nothing"
		out.field(fieldDestination, m.destination())
		out.number(fieldReplySerial, uint32(1+m.IntN(9)))
	}
	m.add(step{deed: replies, who: who, messages: []message{out}, pick: pick, note: note})
}

// odd is what a well-behaved library never sends, and is valid all the same.
func (m *maker) odd() message {
	out := to(one(m, m.unique(), m.name(), busName, ""), m.path(), m.iface(), m.member(), m.arguments()...)
	out.kind = byte(one(m, 5, 9, 200, 255))
	return m.unlikePeer(out)
}
