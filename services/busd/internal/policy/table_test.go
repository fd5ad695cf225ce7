package policy

import (
	"math/rand/v2"
	"testing"

	"quartet/services/busd/internal/wire"
)

// draw makes random rules and messages of few words, so that they meet.
type draw struct{ *rand.Rand }

func (d draw) of(words ...string) string { return words[d.IntN(len(words))] }

func (d draw) rule(t *testing.T) *Rule {
	t.Helper()
	side := d.of("send", "receive")
	attrs := []Attr{{side + "_type", d.of("*", "*", "method_call", "method_return", "error", "signal")}}
	maybe := func(name string, values ...string) {
		if d.IntN(4) == 0 {
			attrs = append(attrs, Attr{name, d.of(values...)})
		}
	}
	maybe(side+"_path", "*", "/a", "/b")
	if d.IntN(4) == 0 {
		maybe(side+"_error", "*", "e.A", "e.B")
	} else {
		maybe(side+"_interface", "*", "i.A", "i.B")
	}
	maybe(side+"_requested_reply", "true", "false")
	maybe("eavesdrop", "true", "false")
	maybe("min_fds", "0", "1", "2")
	maybe("max_fds", "0", "1", "2")
	switch {
	case side == "receive":
		maybe("receive_sender", "*", "n.A", "n.B", "n.A.C")
	case d.IntN(2) == 0:
		maybe("send_destination_prefix", "n", "n.A", "n.B")
		maybe("send_broadcast", "true", "false")
	default:
		maybe("send_destination", "*", "n.A", "n.B", "n.A.C")
	}
	r, err := ParseRule(d.IntN(2) == 0, attrs, "f", 1)
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

func (d draw) question() question {
	var names Names
	for _, n := range []string{"n.A", "n.B", "n.A.C"} {
		if d.IntN(3) == 0 {
			names = append(names, n)
		}
	}
	m := &Message{
		Type: wire.Type(1 + d.IntN(4)), Interface: d.of("", "i.A", "i.B"), Path: d.of("", "/a", "/b"),
		ErrorName: d.of("", "e.A"), Destination: d.of("", "n.A"), UnixFDs: uint32(d.IntN(4)), RequestedReply: d.IntN(2) == 0,
	}
	receiving := d.IntN(2) == 0
	return question{m: m, names: names, receiving: receiving, eavesdropping: receiving && d.IntN(2) == 0}
}

// walk is the plain reading of the manual: all rules in order, the last wins.
func walk(rules []*Rule, q question) Verdict {
	var v Verdict
	for _, r := range rules {
		if (r.kind == receive) != q.receiving || r.match.typ != 0 && r.match.typ != q.m.Type {
			continue
		}
		named := r.name == ""
		for _, n := range q.names {
			named = named || n == r.name || r.prefix && below(n, r.name)
		}
		if named && q.matches(r) {
			v = Verdict{Allow: r.Allow, Matched: v.Matched + 1, Rule: r}
		}
	}
	return v
}

func (c *Client) answer(q question) Verdict {
	if q.receiving {
		return c.CanReceive(q.m, q.names, q.eavesdropping)
	}
	return c.CanSend(q.m, q.names)
}

func TestTablesAgreeWithAWalkOfAllRules(t *testing.T) {
	d := draw{rand.New(rand.NewPCG(1, 2))}
	for range 2000 {
		rules := make([]*Rule, d.IntN(12))
		for i := range rules {
			rules[i] = d.rule(t)
		}
		c := newClient(rules)
		for range 50 {
			q := d.question()
			got, want := c.answer(q), walk(rules, q)
			if got.Allow != want.Allow || got.Rule != want.Rule || !got.Allow && got.Matched != want.Matched {
				t.Fatalf("%+v %+v:\ntables %s (%d)\nwalk   %s (%d)", q, *q.m, got, got.Matched, want, want.Matched)
			}
			if all := !q.receiving && c.SendsAll() || q.receiving && c.ReceivesAll(); all && !want.Allow {
				t.Fatalf("everything is said to be allowed, but %+v %+v is %s", q, *q.m, want)
			}
		}
	}
}
