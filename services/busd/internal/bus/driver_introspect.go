package bus

import (
	"fmt"
	"strings"

	"quartet/services/busd/internal/wire"
)

var introspectableInterface = iface{
	name:    "org.freedesktop.DBus.Introspectable",
	anyPath: true,
	methods: []method{{name: "Introspect", out: []arg{{"s", "xml_data"}}, call: (*Bus).introspect}},
}

func (b *Bus) introspect(p *Peer, _ *wire.Decoder) *refusal {
	b.reply(p, "s").String(Introspect(b.handled.msg.Path))
	b.say(p)
	return nil
}

// Introspect describes the object of the bus at path in XML, as
// org.freedesktop.DBus.Introspectable does.
func Introspect(path string) string {
	var s strings.Builder
	s.WriteString(`<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
<node>
`)
	for _, in := range interfaces {
		if in.anyPath || path == wire.BusPath {
			in.describe(&s)
		}
	}
	if below := strings.TrimSuffix(path, "/") + "/"; strings.HasPrefix(wire.BusPath, below) {
		// All the way down at once, as in dbus-daemon: the objects between
		// are nothing to see in a tree.
		fmt.Fprintf(&s, "  <node name=\"%s\"/>\n", wire.BusPath[len(below):])
	}
	s.WriteString("</node>\n")
	return s.String()
}

func (in *iface) describe(s *strings.Builder) {
	fmt.Fprintf(s, "  <interface name=\"%s\">\n", in.name)
	for i := range in.methods {
		m := &in.methods[i]
		fmt.Fprintf(s, "    <method name=\"%s\">\n", m.name)
		describeArgs(s, m.in, ` direction="in"`)
		describeArgs(s, m.out, ` direction="out"`)
		s.WriteString("    </method>\n")
	}
	for _, p := range in.properties {
		fmt.Fprintf(s, "    <property name=\"%s\" type=\"%s\" access=\"read\">\n      <annotation name=\"org.freedesktop.DBus.Property.EmitsChangedSignal\" value=\"const\"/>\n    </property>\n", p.name, p.kind)
	}
	for _, sig := range in.signals {
		fmt.Fprintf(s, "    <signal name=\"%s\">\n", sig.name)
		describeArgs(s, sig.args, "")
		s.WriteString("    </signal>\n")
	}
	s.WriteString("  </interface>\n")
}

func describeArgs(s *strings.Builder, args []arg, direction string) {
	for _, a := range args {
		fmt.Fprintf(s, "      <arg name=\"%s\"%s type=\"%s\"/>\n", a.name, direction, a.kind)
	}
}
