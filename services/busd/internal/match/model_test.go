package match_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quartet/services/busd/internal/match"
	"quartet/services/busd/internal/wire"
)

// model is a bus that compares every rule of everybody with every message, key
// by key, as dbus-daemon does.
type model struct {
	rules []owned
}

type owned struct {
	owner int
	keys  map[string]string
	text  string
}

func (o *owned) matches(m *message) bool {
	if m.destination != "" && o.keys["eavesdrop"] != "true" {
		return false
	}
	for key, want := range o.keys {
		if !o.keyMatches(m, key, want) {
			return false
		}
	}
	return true
}

func (o *owned) keyMatches(m *message, key, want string) bool {
	switch key {
	case "eavesdrop":
		return true
	case "type":
		return want == map[wire.Type]string{1: "method_call", 2: "method_return", 3: "error", 4: "signal"}[m.kind]
	case "interface":
		return want == m.iface
	case "member":
		return want == m.member
	case "path":
		return want == m.path
	case "path_namespace":
		return m.path != "" && strings.HasPrefix(strings.TrimRight(m.path, "/")+"/", strings.TrimRight(want, "/")+"/")
	case "sender":
		return want == m.sender || slices.Contains(m.senderNames, want)
	case "destination":
		return m.destination != "" && o.keys["eavesdrop"] == "true" && slices.Contains(m.destinationNames, want)
	}
	var n int
	var how string
	fmt.Sscanf(key, "arg%d%s", &n, &how)
	if n >= len(m.args) {
		return false
	}
	a := m.args[n]
	switch how {
	case "":
		return a.kind == "s" && a.text == want
	case "namespace":
		return a.kind == "s" && strings.HasPrefix(a.text+".", want+".")
	}
	return (a.kind == "s" || a.kind == "o") && (a.text == want ||
		strings.HasSuffix(want, "/") && strings.HasPrefix(a.text, want) ||
		strings.HasSuffix(a.text, "/") && strings.HasPrefix(want, a.text))
}

// The values are few, so that rules and messages often meet.
var (
	paths  = []string{"/", "/a", "/a/b", "/a/bc", "/a/b/c"}
	names  = []string{":1.1", ":1.2", "x.a", "x.b", "org.freedesktop.DBus"}
	ifaces = []string{"i.a", "i.b"}
	words  = []string{"", "a", "a.b", "a.bc", "a.b.c", "/", "/a", "/a/", "/a/b", "/a/b/", "/a/bc"}
)

func pick(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }

// randomRule returns a rule of owner with keys in random order.
func randomRule(rng *rand.Rand, owner int) owned {
	keys := map[string]string{}
	maybe := func(chance int, key, value string) {
		if rng.IntN(chance) == 0 {
			keys[key] = value
		}
	}
	maybe(2, "type", pick(rng, []string{"signal", "signal", "method_call", "method_return", "error"}))
	maybe(2, "interface", pick(rng, ifaces))
	maybe(3, "member", pick(rng, []string{"M", "N"}))
	maybe(3, "sender", pick(rng, names))
	maybe(8, "destination", pick(rng, names))
	maybe(3, "eavesdrop", pick(rng, []string{"true", "true", "false"}))
	maybe(3, pick(rng, []string{"path", "path_namespace"}), pick(rng, paths))
	for n := range 5 {
		switch how := pick(rng, []string{"", "", "path", "namespace"}); {
		case rng.IntN(4) != 0:
		case how != "namespace":
			keys[fmt.Sprintf("arg%d%s", n, how)] = pick(rng, words)
		case n == 0:
			keys["arg0namespace"] = pick(rng, []string{"a", "a.b", "a.b.c"})
		}
	}
	var items []string
	for key, value := range keys { // any order
		items = append(items, key+"='"+value+"'")
	}
	return owned{owner: owner, keys: keys, text: strings.Join(items, ",")}
}

func randomMessage(rng *rand.Rand) *message {
	m := &message{
		kind: wire.Type(rng.IntN(4) + 1), sender: pick(rng, []string{":1.1", ":1.2", "org.freedesktop.DBus"}),
		iface: pick(rng, append(ifaces, "")), member: pick(rng, []string{"M", "N", ""}),
		path: pick(rng, append(paths, "")),
	}
	if m.sender[0] == ':' {
		m.senderNames = [][]string{nil, {"x.a"}, {"x.b", "x.a"}}[rng.IntN(3)]
	}
	if rng.IntN(3) == 0 {
		m.destination = pick(rng, names)
		m.destinationNames = []string{m.destination, ":1.2"}
	}
	for range rng.IntN(6) {
		m.args = append(m.args, arg{pick(rng, []string{"s", "s", "s", "o", "g", "u", "ay", "v", "(su)"}), pick(rng, words)})
	}
	return m
}

// TestIndexFindsWhatALinearSearchFinds adds, removes and searches at random.
func TestIndexFindsWhatALinearSearchFinds(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var x match.Index[int]
		var all model
		for step := range 500 {
			switch rng.IntN(12) {
			case 0, 1, 2, 3, 4:
				r := randomRule(rng, rng.IntN(8)+1)
				x.Add(r.owner, parse(t, r.text))
				all.rules = append(all.rules, r)
			case 5, 6:
				all.remove(t, rng, &x)
			case 7:
				if step%10 == 0 {
					all.removeAll(&x, rng.IntN(8)+1)
				}
			case 8:
				if step%10 == 0 {
					all.forget(&x, ":1.2")
				}
			default:
				all.search(t, &x, randomMessage(rng))
			}
			if x.Len() != len(all.rules) {
				t.Fatalf("seed %d, step %d: %d rules, want %d", seed, step, x.Len(), len(all.rules))
			}
		}
		for owner := range 9 {
			all.removeAll(&x, owner)
		}
		if !x.IsEmpty() {
			t.Fatalf("seed %d: something is left", seed)
		}
	}
}

// remove removes one rule, or asks for one that is not there.
func (all *model) remove(t *testing.T, rng *rand.Rand, x *match.Index[int]) {
	t.Helper()
	if len(all.rules) == 0 || rng.IntN(8) == 0 {
		if x.Remove(rng.IntN(9), parse(t, "member='Absent'")) {
			t.Fatal("a rule that nobody has was removed")
		}
		return
	}
	i := rng.IntN(len(all.rules))
	if r := all.rules[i]; !x.Remove(r.owner, parse(t, r.text)) {
		t.Fatalf("%q of %d could not be removed", r.text, r.owner)
	}
	all.rules = slices.Delete(all.rules, i, i+1)
}

func (all *model) removeAll(x *match.Index[int], owner int) {
	x.RemoveAll(owner)
	all.rules = slices.DeleteFunc(all.rules, func(r owned) bool { return r.owner == owner })
}

func (all *model) forget(x *match.Index[int], unique string) {
	x.Forget(unique)
	all.rules = slices.DeleteFunc(all.rules, func(r owned) bool {
		return r.keys["sender"] == unique || r.keys["destination"] == unique
	})
}

func (all *model) search(t *testing.T, x *match.Index[int], m *message) {
	t.Helper()
	var want []int
	counts := map[int]int{}
	for _, r := range all.rules {
		counts[r.owner]++
		if r.matches(m) {
			want = append(want, r.owner)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if got := find(x, m.bus()); !slices.Equal(got, want) {
		t.Fatalf("found %v, want %v, for %+v", got, want, *m)
	}
	for owner, n := range counts {
		if x.Count(owner) != n {
			t.Fatalf("owner %d has %d rules, want %d", owner, x.Count(owner), n)
		}
	}
}
