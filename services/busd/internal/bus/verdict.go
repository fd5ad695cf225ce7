package bus

import (
	"context"
	"log/slog"

	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// rejected is what a sender is told that the policy stops, in the words of
// dbus-daemon, which people search for. It is logged as well.
func (b *Bus) rejected(what string, matched int, from, to *Peer, m *wire.Message, requested bool) *refusal {
	sender, login, destination := "(unset)", "(bus)", m.Destination
	if from != nil {
		sender, login = from.label(), from.login()
	}
	if destination == "" {
		destination = wire.BusName
	}
	r := refused(accessDenied, "Rejected %s message, %d matched rules; type=%q, sender=%q (%s) interface=%q member=%q error name=%q requested_reply=\"%s\" destination=%q (%s)",
		what, matched, m.Type.String(), sender, login, orUnset(m.Interface), orUnset(m.Member), orUnset(m.ErrorName), map[bool]string{false: "0", true: "1"}[requested], destination, loginOf(to))
	b.stats.Rejected++
	b.log.LogAttrs(context.Background(), slog.LevelDebug, "message refused by the policy", slog.String("error", r.text))
	return r
}

func loginOf(p *Peer) string {
	if p == nil {
		return "bus"
	}
	return p.login()
}

func orUnset(s string) string {
	if s == "" {
		return "(unset)"
	}
	return s
}

// maySend asks the policy whether a peer may send a message to what is no peer:
// the bus itself, or a service that is still to come.
func (b *Bus) maySend(p *Peer, m *wire.Message, to policy.Names) *refusal {
	if m.Type > wire.Signal {
		return unknownType()
	}
	if p.policy.SendsAll() {
		return nil
	}
	pm := policyMessage(m, false)
	v := p.policy.CanSend(&pm, to)
	if !v.Allow {
		return b.rejected("send", v.Matched, p, nil, m, false)
	}
	if v.Log {
		b.logVerdict("sent", v, p.label(), to[0])
	}
	return nil
}

func unknownType() *refusal {
	return refused(accessDenied, "Message bus will not accept messages of unknown type")
}

// logVerdict is for rules with log="true".
func (b *Bus) logVerdict(what string, v policy.Verdict, from, to string) {
	b.log.LogAttrs(context.Background(), slog.LevelInfo, "message "+what+" that the policy asks to log", slog.String("from", from), slog.String("to", to), slog.String("rule", v.String()))
}
