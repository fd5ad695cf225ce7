package bus

import "quartet/services/busd/internal/wire"

// Stats is what the bus has counted. Those with a Peak are the highest values
// so far, those in Now are as they are, all others only grow.
type Stats struct {
	Accepted, Messages, Delivered           uint64
	ReceivedBytes, SentBytes                uint64
	Turns, Reads, Sends                     uint64
	Refused, Rejected, OverLimit, Shortages uint64
	Ended                                   [reasons]uint64
	Activations, ActivationsFailed          uint64
	PeakRules, PeakNames, PeakConnections   int
	Latency                                 Latency
	Now                                     Now
}

// Now is how much there is of what comes and goes.
type Now struct {
	Connections, Incomplete, Monitors int
	Names, Rules, PendingReplies      int
	Activations                       int
	WaitingBytes, WaitingFDs          int64
	OpenFDs                           int
}

// Stats is a copy of what was counted.
func (b *Bus) Stats() Stats {
	b.lookAll() // or what was received meanwhile would count as waiting
	s := b.stats
	s.Now = Now{
		Connections: b.peers.completed, Incomplete: b.accepting.incomplete, Names: b.names.Len(), Rules: b.matching.rules.Len(),
		PendingReplies: b.pendings.count, Activations: b.starts.len(), OpenFDs: b.memory.openFDs,
	}
	for _, p := range b.peers.byFD {
		if p == nil {
			continue
		}
		if p.state == monitoring {
			s.Now.Monitors++
		}
		s.Now.WaitingBytes += int64(p.out.bytes)
		s.Now.WaitingFDs += int64(p.out.fds + p.unread())
	}
	return s
}

// countNames looks whether there are more names, unique ones too, than ever.
func (b *Bus) countNames() {
	b.stats.PeakNames = max(b.stats.PeakNames, len(b.peers.byID)+b.names.Len())
}

var statsInterface = iface{
	name: "org.freedesktop.DBus.Debug.Stats",
	methods: []method{
		{name: "GetStats", out: []arg{{"a{sv}", "stats"}}, canonical: true, call: (*Bus).getStats},
		{name: "GetConnectionStats", in: []arg{{"s", "name"}}, out: []arg{{"a{sv}", "stats"}}, canonical: true, call: (*Bus).getConnectionStats},
		{name: "GetAllMatchRules", out: []arg{{"a{sas}", "rules"}}, canonical: true, call: (*Bus).getAllMatchRules},
	},
}

// counts writes what was counted as a{sv} of u.
type counts struct {
	e    *wire.Encoder
	mark int
}

func (b *Bus) openCounts(p *Peer) counts {
	e := b.reply(p, "a{sv}")
	return counts{e, e.OpenArray(8)}
}

func (c counts) add(name string, n int) {
	c.e.DictEntry()
	c.e.String(name)
	c.e.Variant("u")
	c.e.Uint32(uint32(n))
}

func (b *Bus) getStats(p *Peer, _ *wire.Decoder) *refusal {
	s := b.Stats()
	c := b.openCounts(p)
	c.add("Serial", int(b.own.serial))
	c.add("ActiveConnections", s.Now.Connections)
	c.add("IncompleteConnections", s.Now.Incomplete)
	c.add("PeakConnections", s.PeakConnections)
	c.add("MatchRules", s.Now.Rules)
	c.add("PeakMatchRules", s.PeakRules)
	c.add("BusNames", s.Now.Names+len(b.peers.byID))
	c.add("PeakBusNames", s.PeakNames)
	c.add("PendingReplies", s.Now.PendingReplies)
	c.add("OutgoingBytes", int(s.Now.WaitingBytes))
	c.add("OutgoingUnixFDs", int(s.Now.WaitingFDs))
	// These go round at 2^32: whoever wants rates takes differences.
	c.add("Messages", int(s.Messages))
	c.add("ReceivedBytes", int(s.ReceivedBytes))
	c.add("SentBytes", int(s.SentBytes))
	c.e.CloseArray(c.mark)
	b.say(p)
	return nil
}

func (b *Bus) getConnectionStats(p *Peer, d *wire.Decoder) *refusal {
	of, itself, why := b.about(d.String(), "statistics")
	switch {
	case why != nil:
		return why
	case itself:
		return refused(invalidArgs, "The bus has no statistics of itself as a connection: see GetStats")
	}
	b.look(of)
	c := b.openCounts(p)
	c.e.DictEntry()
	c.e.String("UniqueName")
	c.e.Variant("s")
	c.e.String(of.name)
	c.add("MatchRules", b.matching.rules.Count(of))
	c.add("BusNames", b.names.Count(of)+1)
	c.add("PendingReplies", of.pending)
	c.add("IncomingBytes", len(of.in.rest())+of.in.got)
	c.add("IncomingFDs", len(of.in.fds))
	c.add("OutgoingBytes", of.out.bytes)
	c.add("OutgoingFDs", of.out.fds+of.unread())
	c.e.CloseArray(c.mark)
	b.say(p)
	return nil
}

func (b *Bus) getAllMatchRules(p *Peer, _ *wire.Decoder) *refusal {
	e := b.reply(p, "a{sas}")
	mark := e.OpenArray(8)
	for _, of := range b.peers.byID {
		e.DictEntry()
		e.String(of.name)
		list := e.OpenArray(4)
		for _, r := range b.matching.rules.Rules(of) {
			e.String(r.String())
		}
		e.CloseArray(list)
	}
	e.CloseArray(mark)
	b.say(p)
	return nil
}
