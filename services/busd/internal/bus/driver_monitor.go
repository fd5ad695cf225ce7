package bus

import (
	"quartet/services/busd/internal/match"
	"quartet/services/busd/internal/wire"
)

var monitoringInterface = iface{
	name:    "org.freedesktop.DBus.Monitoring",
	methods: []method{{name: "BecomeMonitor", in: []arg{{"as", "rules"}, {"u", "flags"}}, canonical: true, privileged: true, call: (*Bus).becomeMonitor}},
}

// becomeMonitor lets a peer see everything that its rules match from now on,
// and nothing else happen to it: it leaves the bus but for that.
func (b *Bus) becomeMonitor(p *Peer, d *wire.Decoder) *refusal {
	var texts []string
	for end := d.Array(4); d.More(end); {
		texts = append(texts, d.String())
	}
	if flags := d.Uint32(); flags != 0 {
		return refused(invalidArgs, "BecomeMonitor has no flags, and %d was given", flags)
	}
	if len(texts) == 0 {
		texts = []string{""}
	}
	rules := make([]match.Rule, 0, len(texts))
	for _, text := range texts {
		rule, why := parseRule(text)
		if why != nil {
			return why
		}
		rule.Eavesdrop = true
		rules = append(rules, rule)
	}
	b.ack(p)
	b.releaseNames(p, false)
	b.forgetStarts(p)
	b.matching.rules.RemoveAll(p)
	b.matching.rules.Forget(p.name) // nobody will ever have it again
	p.state = monitoring
	for _, rule := range rules {
		b.matching.monitors.Add(p, rule)
	}
	return nil
}
