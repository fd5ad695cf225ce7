package bus

import (
	"slices"
	"strings"

	"quartet/services/busd/internal/match"
	"quartet/services/busd/internal/wire"
)

var coreInterface = iface{
	name:    wire.BusName,
	anyPath: true,
	methods: []method{
		{name: "Hello", out: []arg{{"s", "unique_name"}}, call: (*Bus).hello},
		{name: "RequestName", in: []arg{{"s", "name"}, {"u", "flags"}}, out: []arg{{"u", "result"}}, call: (*Bus).requestName},
		{name: "ReleaseName", in: []arg{{"s", "name"}}, out: []arg{{"u", "result"}}, call: (*Bus).releaseName},
		{name: "StartServiceByName", in: []arg{{"s", "name"}, {"u", "flags"}}, out: []arg{{"u", "result"}}, call: (*Bus).startServiceByName},
		{name: "UpdateActivationEnvironment", in: []arg{{"a{ss}", "environment"}}, canonical: true, call: (*Bus).updateActivationEnvironment},
		{name: "NameHasOwner", in: []arg{{"s", "name"}}, out: []arg{{"b", "has_owner"}}, call: (*Bus).nameHasOwner},
		{name: "ListNames", out: []arg{{"as", "names"}}, call: (*Bus).listNames},
		{name: "ListActivatableNames", out: []arg{{"as", "names"}}, call: (*Bus).listActivatableNames},
		{name: "AddMatch", in: []arg{{"s", "rule"}}, call: (*Bus).addMatch},
		{name: "RemoveMatch", in: []arg{{"s", "rule"}}, call: (*Bus).removeMatch},
		{name: "GetNameOwner", in: []arg{{"s", "name"}}, out: []arg{{"s", "unique_name"}}, call: (*Bus).getNameOwner},
		{name: "ListQueuedOwners", in: []arg{{"s", "name"}}, out: []arg{{"as", "unique_names"}}, call: (*Bus).listQueuedOwners},
		{name: "GetConnectionUnixUser", in: []arg{{"s", "name"}}, out: []arg{{"u", "uid"}}, call: (*Bus).getUnixUser},
		{name: "GetConnectionUnixProcessID", in: []arg{{"s", "name"}}, out: []arg{{"u", "pid"}}, call: (*Bus).getProcessID},
		{name: "GetAdtAuditSessionData", in: []arg{{"s", "name"}}, out: []arg{{"ay", "data"}}, call: (*Bus).getAuditData},
		{name: "GetConnectionSELinuxSecurityContext", in: []arg{{"s", "name"}}, out: []arg{{"ay", "context"}}, call: (*Bus).getSELinuxContext},
		{name: "ReloadConfig", call: (*Bus).reloadConfig},
		{name: "GetId", out: []arg{{"s", "id"}}, call: (*Bus).getID},
		{name: "GetConnectionCredentials", in: []arg{{"s", "name"}}, out: []arg{{"a{sv}", "credentials"}}, call: (*Bus).getCredentials},
	},
	properties: []property{
		{name: "Features", kind: "as", write: func(b *Bus, e *wire.Encoder) { writeStrings(e, b.features()) }},
		{name: "Interfaces", kind: "as", write: func(b *Bus, e *wire.Encoder) { writeStrings(e, b.announced()) }},
	},
	signals: []signal{
		{"NameOwnerChanged", []arg{{"s", "name"}, {"s", "old_owner"}, {"s", "new_owner"}}},
		{"NameLost", []arg{{"s", "name"}}},
		{"NameAcquired", []arg{{"s", "name"}}},
		{"ActivatableServicesChanged", nil},
	},
}

// features are what the bus can do beyond the specification's beginnings.
func (b *Bus) features() []string {
	f := []string{"ActivatableServicesChanged", "HeaderFiltering"}
	if b.opt.Activation.Systemd {
		f = append(f, "SystemdActivation")
	}
	return f
}

// announced are the interfaces that not every bus has.
func (b *Bus) announced() []string {
	names := []string{monitoringInterface.name, statsInterface.name}
	if b.opt.AnnounceVerbose {
		names = append(names, verboseInterface.name)
	}
	return names
}

func writeStrings(e *wire.Encoder, list []string) {
	mark := e.OpenArray(4)
	for _, s := range list {
		e.String(s)
	}
	e.CloseArray(mark)
}

func (b *Bus) requestName(p *Peer, d *wire.Decoder) *refusal {
	wanted, flags := d.String(), d.Uint32()
	if why := mayBeOwned(wanted, "Cannot acquire a service"); why != nil {
		return why
	}
	if !p.policy.CanOwn(wanted).Allow && b.opt.Reload != nil && b.changing() && b.starts.claims < b.settings.Limits.MaxPendingServiceStarts {
		b.claimLater(p, strings.Clone(wanted), flags)
		return nil
	}
	return b.claim(p, wanted, flags, b.handled.msg.Serial)
}

// claimLater asks for a name when the configuration was read anew: a service
// that was installed just now has a policy that was so too.
func (b *Bus) claimLater(p *Peer, wanted string, flags uint32) {
	serial, quiet := b.handled.msg.Serial, b.handled.msg.Flags&wire.NoReplyExpected != 0
	b.starts.claims++
	b.opt.Reload(func(error) { // with a fault in it the old one decides
		b.Post(func() {
			b.starts.claims--
			if p.state != active {
				return
			}
			if why := b.claim(p, wanted, flags, serial); why != nil && !quiet {
				b.sendError(p, serial, why.name, why.text)
			}
			b.resume()
		})
	})
}

// claim asks for a name, for the call with that serial.
func (b *Bus) claim(p *Peer, wanted string, flags, serial uint32) *refusal {
	if v := p.policy.CanOwn(wanted); !v.Allow {
		b.stats.Rejected++
		return refused(accessDenied, "Connection %q is not allowed to own the service %q due to security policies in the configuration file", p.name, wanted)
	}
	if limit := b.settings.Limits.MaxNamesPerConnection; b.names.Count(p)+1 >= limit {
		return refused(limitsExceeded, "Connection %q is not allowed to own more services (increase limits in configuration file if required; max_names_per_connection=%d)", p.name, limit)
	}
	result, change, changed := b.names.Request(wanted, p, flags)
	b.reclaim(p, wanted)
	if changed {
		b.ownerChanged(change)
		b.countNames()
	}
	b.begin(wire.Header{Type: wire.MethodReturn, Flags: wire.NoReplyExpected, ReplySerial: serial, Destination: p.name, Signature: "u"}).Uint32(result)
	b.say(p)
	return nil
}

// mayBeOwned says why nobody may ask for a name.
func mayBeOwned(name, what string) *refusal {
	switch {
	case !wire.ValidBusName(name):
		return refused(invalidArgs, "Requested bus name %q is not valid", name)
	case name[0] == ':':
		return refused(invalidArgs, "%s starting with ':' such as %q", what, name)
	case name == wire.BusName:
		return refused(invalidArgs, "%s named %s, because that is reserved", what, wire.BusName)
	}
	return nil
}

func (b *Bus) releaseName(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	if why := mayBeOwned(name, "Cannot release a service"); why != nil {
		return why
	}
	result, change, changed := b.names.Release(name, p)
	b.reclaim(p, name)
	if changed {
		b.ownerChanged(change)
	}
	b.reply(p, "u").Uint32(result)
	b.say(p)
	return nil
}

func (b *Bus) nameHasOwner(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	b.reply(p, "b").Bool(name == wire.BusName || b.find(name) != nil)
	b.say(p)
	return nil
}

func (b *Bus) listNames(p *Peer, _ *wire.Decoder) *refusal {
	ids := make([]uint64, 0, len(b.peers.byID))
	for id := range b.peers.byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	names := []string{wire.BusName}
	for _, id := range ids {
		names = append(names, b.peers.byID[id].name)
	}
	writeStrings(b.reply(p, "as"), append(names, b.names.Names()...))
	b.say(p)
	return nil
}

func (b *Bus) addMatch(p *Peer, d *wire.Decoder) *refusal {
	if limit := b.settings.Limits.MaxMatchRulesPerConnection; b.matching.rules.Count(p) >= limit {
		return refused(limitsExceeded, "Connection %q is not allowed to add more match rules (increase limits in configuration file if required; max_match_rules_per_connection=%d)", p.name, limit)
	}
	rule, why := parseRule(d.String())
	if why != nil {
		return why
	}
	b.matching.rules.Add(p, rule)
	b.stats.PeakRules = max(b.stats.PeakRules, b.matching.rules.Len())
	b.ack(p)
	return nil
}

func parseRule(text string) (match.Rule, *refusal) {
	rule, err := match.Parse(strings.Clone(text))
	if err != nil {
		bad := err.(*match.Error) // as all of them are
		return match.Rule{}, &refusal{bad.Name, bad.Message}
	}
	return rule, nil
}

func (b *Bus) removeMatch(p *Peer, d *wire.Decoder) *refusal {
	rule, why := parseRule(d.String())
	if why != nil {
		return why
	}
	if !b.matching.rules.Remove(p, rule) {
		return refused(matchRuleNotFound, "The given match rule wasn't found and can't be removed")
	}
	b.ack(p)
	return nil
}

func (b *Bus) getNameOwner(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	owner := wire.BusName
	if name != wire.BusName {
		o := b.find(name)
		if o == nil {
			return refused(nameHasNoOwner, "Could not get owner of name '%s': no such name", name)
		}
		owner = o.name
	}
	b.reply(p, "s").String(owner)
	b.say(p)
	return nil
}

func (b *Bus) listQueuedOwners(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	var owners []string
	switch o := b.find(name); {
	case name == wire.BusName:
		owners = []string{wire.BusName}
	case o == nil:
		return refused(nameHasNoOwner, "Could not get owners of name '%s': no such name", name)
	case name[0] == ':':
		owners = []string{o.name}
	default:
		for _, o := range b.names.Queue(name) {
			owners = append(owners, o.name)
		}
	}
	writeStrings(b.reply(p, "as"), owners)
	b.say(p)
	return nil
}

func (b *Bus) getID(p *Peer, _ *wire.Decoder) *refusal {
	b.reply(p, "s").String(b.opt.GUID)
	b.say(p)
	return nil
}
