package differential_test

import "strings"

// names asks the bus about who owns what.
func (m *maker) names() message {
	name := m.name()
	if m.chance(8) {
		name = m.anyName()
	}
	switch n := m.IntN(10); {
	case n < 6:
		flags := uint32(m.IntN(8))
		if m.chance(5) {
			flags |= 1 << (3 + m.IntN(29))
		}
		return driver("RequestName", text(name), number(flags))
	case n < 9:
		return driver("ReleaseName", text(name))
	}
	return driver("ListQueuedOwners", text(name))
}

// matching adds a rule, or takes one back.
func (m *maker) matching() message {
	if len(m.rules) > 0 && m.chance(25) {
		i := m.IntN(len(m.rules))
		rule := m.rules[i]
		if m.chance(70) {
			m.rules = append(m.rules[:i:i], m.rules[i+1:]...)
		}
		if m.alone(rule) {
			return driver("RemoveMatch", text(rule))
		}
	}
	rule := m.rule()
	m.rules = append(m.rules, rule)
	if strings.Contains(rule, namespace) {
		m.namespaces[rule] = true
	}
	out := driver("AddMatch", text(rule))
	if m.chance(10) {
		out.flags |= noReply
	}
	return out
}

const namespace = "path_namespace"

// alone says whether no rule that was added can differ from this one in its
// path_namespace and in nothing else: dbus-daemon takes those for equal and
// removes the one that was added last.
func (m *maker) alone(rule string) bool {
	return !strings.Contains(rule, namespace) || len(m.namespaces) < 2
}

// methods are those of the bus, with the arguments that they take.
var methods = []struct{ iface, member, sig string }{
	{busName, "Hello", ""},
	{busName, "RequestName", "su"},
	{busName, "ReleaseName", "s"},
	{busName, "StartServiceByName", "su"},
	{busName, "UpdateActivationEnvironment", "a{ss}"},
	{busName, "NameHasOwner", "s"},
	{busName, "ListNames", ""},
	{busName, "ListActivatableNames", ""},
	{busName, "AddMatch", "s"},
	{busName, "RemoveMatch", "s"},
	{busName, "GetNameOwner", "s"},
	{busName, "ListQueuedOwners", "s"},
	{busName, "GetConnectionUnixUser", "s"},
	{busName, "GetConnectionUnixProcessID", "s"},
	{busName, "GetAdtAuditSessionData", "s"},
	{busName, "GetConnectionSELinuxSecurityContext", "s"},
	{busName, "ReloadConfig", ""},
	{busName, "GetId", ""},
	{busName, "GetConnectionCredentials", "s"},
	{busName + ".Properties", "Get", "ss"},
	{busName + ".Properties", "GetAll", "s"},
	{busName + ".Properties", "Set", "ssv"},
	{busName + ".Introspectable", "Introspect", ""},
	{busName + ".Peer", "Ping", ""},
	{busName + ".Peer", "GetMachineId", ""},
	{busName + ".Debug.Stats", "GetStats", ""},
	{busName + ".Debug.Stats", "GetConnectionStats", "s"},
	{busName + ".Debug.Stats", "GetAllMatchRules", ""},
}

// question calls any method of the bus, rightly or not.
func (m *maker) question() message {
	q := methods[m.IntN(len(methods))]
	path, iface, member := busPath, q.iface, q.member
	body := m.fitting(q.member, q.sig)
	switch m.IntN(20) {
	case 0:
		body = m.arguments()
	case 1:
		path = m.path()
	case 2:
		iface = one(m, "", busName, busName+".Nothing", busName+".Monitoring")
	case 3:
		member = one(m, "Nothing", "Get", "Ping", "BecomeMonitor")
	}
	out := to(busName, path, iface, member, body...)
	switch {
	case m.chance(6):
		out.flags |= noReply
	case m.chance(3):
		out.kind = signal
		if iface == "" {
			out.kind = call
		}
	case m.chance(2):
		out.kind = answer
		out.number(fieldReplySerial, uint32(1+m.IntN(9)))
	}
	return out
}

// fitting are arguments that a method takes.
func (m *maker) fitting(member, sig string) (body []value) {
	for _, kind := range membersOf(sig) {
		switch {
		case kind == "u":
			body = append(body, number(uint32(m.IntN(8))))
		case kind == "v":
			body = append(body, variant(m.value(1)))
		case kind != "s":
			v := array("{ss}")
			if m.chance(70) {
				v.in = append(v.in, entry(text(one(m, "BUSD_TEST", "BUSD_OTHER")), text("x")))
			}
			body = append(body, v)
		case strings.HasSuffix(member, "Match"):
			body = append(body, text(m.rule()))
		case len(member) <= len("GetAll"): // of Properties
			body = append(body, text(one(m, busName, busName, busName+".Peer", busName+".Properties", "Features", "Interfaces", "Nothing", "")))
		default:
			body = append(body, text(m.anyName()))
		}
	}
	return body
}

func (m *maker) becomeMonitor() message {
	var rules []string
	for range m.IntN(3) {
		rules = append(rules, m.rule())
	}
	flags := uint32(0)
	if m.chance(10) {
		flags = 1
	}
	path := busPath
	if m.chance(10) {
		path = "/"
	}
	return to(busName, path, busName+".Monitoring", "BecomeMonitor", texts(rules...), number(flags))
}
