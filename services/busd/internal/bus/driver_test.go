package bus_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

const driverError = "org.freedesktop.DBus.Error."

// The verdicts of the bus on calls of itself, as dbus-daemon has them.
func TestDriverVerdicts(t *testing.T) {
	b := start(t, allowAll)
	c := b.dial()
	for _, v := range []struct {
		path, iface, member, signature string
		body                           client.Write
		want                           string
	}{
		{"", wire.BusName, "GetId", "", nil, ""},
		{"/", wire.BusName, "GetId", "", nil, ""},
		{"/any", "-", "GetId", "", nil, ""},
		{"/any", "-", "Introspect", "", nil, ""},
		{"/any", "-", "Ping", "", nil, ""},
		{"", "-", "Nonsense", "", nil, "UnknownMethod"},
		{"", wire.BusName, "Nonsense", "", nil, "UnknownMethod"},
		{"", wire.BusName, "Get", "ss", pair("a", "b"), "UnknownMethod"},
		{"", "com.example.I", "GetId", "", nil, "UnknownInterface"},
		{"", wire.BusName, "GetId", "s", word("x"), "InvalidArgs"},
		{"", wire.BusName, "GetNameOwner", "", nil, "InvalidArgs"},
		{"", wire.BusName, "GetNameOwner", "o", word("/x"), "InvalidArgs"},
		{"", wire.BusName, "RequestName", "s", word("a.b"), "InvalidArgs"},
		{"", wire.BusName, "ReloadConfig", "", nil, ""},
		{"", wire.BusName, "GetNameOwner", "s", word("com.example.None"), "NameHasNoOwner"},
		{"", wire.BusName, "GetConnectionUnixUser", "s", word("com.example.None"), "NameHasNoOwner"},
		{"", wire.BusName, "GetConnectionUnixProcessID", "s", word("com.example.None"), "NameHasNoOwner"},
		{"", wire.BusName, "GetConnectionCredentials", "s", word("com.example.None"), "NameHasNoOwner"},
		{"", wire.BusName, "GetAdtAuditSessionData", "s", word("com.example.None"), "NameHasNoOwner"},
		{"", wire.BusName, "GetConnectionSELinuxSecurityContext", "s", word("nonsense"), "NameHasNoOwner"},
		{"", wire.BusName, "GetAdtAuditSessionData", "s", word(c.Name), "AdtAuditDataUnknown"},
		{"", wire.BusName, "GetConnectionSELinuxSecurityContext", "s", word(c.Name), "SELinuxSecurityContextUnknown"},
		{"", wire.BusName, "GetConnectionUnixUser", "s", word(wire.BusName), ""},
		{"", wire.BusName, "GetConnectionUnixProcessID", "s", word(wire.BusName), ""},
		{"", wire.BusName, "StartServiceByName", "su", startArgs("com.example.None"), "ServiceUnknown"},
		{"", wire.BusName, "StartServiceByName", "su", startArgs(wire.BusName), "ServiceUnknown"},
		{"", wire.BusName, "StartServiceByName", "su", startArgs(c.Name), "ServiceUnknown"},
		{"", wire.BusName, "AddMatch", "s", word("nonsense"), "MatchRuleInvalid"},
		{"", wire.BusName, "AddMatch", "s", word("type='signal'," + strings.Repeat(" ", 1100)), "LimitsExceeded"},
		{"", wire.BusName, "RemoveMatch", "s", word("type='signal'"), "MatchRuleNotFound"},
		{"", wire.BusName, "RemoveMatch", "s", word("type='nonsense'"), "MatchRuleInvalid"},
		{"/", wire.BusName, "UpdateActivationEnvironment", "a{ss}", func(e *wire.Encoder) { e.CloseArray(e.OpenArray(8)) }, "AccessDenied"},
		{"", properties, "Get", "ss", pair(wire.BusName, "Nonsense"), "UnknownProperty"},
		{"", properties, "Get", "ss", pair("com.example.I", "Features"), "UnknownInterface"},
		{"", properties, "GetAll", "s", word("com.example.I"), "UnknownInterface"},
		{"/", properties, "Get", "ss", pair(wire.BusName, "Features"), "UnknownInterface"},
		{"/", "org.freedesktop.DBus.Debug.Stats", "GetStats", "", nil, "UnknownInterface"},
		{"", "org.freedesktop.DBus.Debug.Stats", "GetConnectionStats", "s", word("com.example.None"), "NameHasNoOwner"},
		{"/", "org.freedesktop.DBus.Monitoring", "BecomeMonitor", "asu", monitorArgs(0), "UnknownInterface"},
		{"", "org.freedesktop.DBus.Monitoring", "BecomeMonitor", "asu", monitorArgs(1), "InvalidArgs"},
		{"", "org.freedesktop.DBus.Monitoring", "BecomeMonitor", "asu", monitorArgs(0, "type='x'"), "MatchRuleInvalid"},
	} {
		h := wire.Header{Path: wire.BusPath, Interface: v.iface, Member: v.member, Destination: wire.BusName, Signature: v.signature}
		if v.path != "" {
			h.Path = v.path
		}
		if v.iface == "-" {
			h.Interface = ""
		}
		_, err := c.Call(h, v.body)
		if v.want == "" {
			if err != nil {
				t.Errorf("%s %s.%s: %v", h.Path, v.iface, v.member, err)
			}
			continue
		}
		if e, ok := err.(*client.Error); !ok || e.Name != driverError+v.want {
			t.Errorf("%s %s.%s: %v, want %s", h.Path, v.iface, v.member, err, v.want)
		}
	}
}

const properties = "org.freedesktop.DBus.Properties"

func pair(a, b string) client.Write { return func(e *wire.Encoder) { e.String(a); e.String(b) } }

func startArgs(name string) client.Write {
	return func(e *wire.Encoder) { e.String(name); e.Uint32(0) }
}

// A string that is no name may be as long as a message. What is said of it is
// not, and is cut before it is quoted.
func TestRefusalsQuoteTheBeginningOfALongString(t *testing.T) {
	b := start(t, allowAll, func(o *busOptions) { o.Activation.Update = func(map[string]string) {} })
	c, monitor := b.dial(), b.monitor(nil)
	for _, long := range []string{strings.Repeat("\x01", 1<<20), strings.Repeat("é", 1<<19), "com.example." + strings.Repeat("x", 1<<20)} {
		for _, v := range []struct {
			iface, member, signature string
			body                     client.Write
		}{
			{wire.BusName, "RequestName", "su", startArgs(long)},
			{wire.BusName, "ReleaseName", "s", word(long)},
			{wire.BusName, "StartServiceByName", "su", startArgs(long)},
			{wire.BusName, "GetNameOwner", "s", word(long)},
			{wire.BusName, "ListQueuedOwners", "s", word(long)},
			{wire.BusName, "GetConnectionCredentials", "s", word(long)},
			{wire.BusName, "AddMatch", "s", word(long)},
			{wire.BusName, "RemoveMatch", "s", word(long)},
			{wire.BusName, "UpdateActivationEnvironment", "a{ss}", func(e *wire.Encoder) {
				mark := e.OpenArray(8)
				e.DictEntry()
				e.String("=" + long)
				e.String("")
				e.CloseArray(mark)
			}},
			{properties, "GetAll", "s", word(long)},
			{properties, "Get", "ss", pair(wire.BusName, long)},
			{"org.freedesktop.DBus.Debug.Stats", "GetConnectionStats", "s", word(long)},
		} {
			_, err := c.Call(wire.Header{Path: wire.BusPath, Interface: v.iface, Member: v.member, Destination: wire.BusName, Signature: v.signature}, v.body)
			if e, ok := err.(*client.Error); !ok || len(e.Text) > 4100 || !utf8.ValidString(e.Text) {
				t.Errorf("%s(%.20q): %.100v", v.member, long, err)
			}
		}
	}
	_, err := c.Call(wire.Header{Path: "/" + strings.Repeat("x", 1<<20), Interface: "com.example.I", Member: "M", Destination: wire.BusName}, nil)
	if e, ok := err.(*client.Error); !ok || len(e.Text) > 4100 {
		t.Errorf("a long path: %.100v", err)
	}
	monitor.Close() // which has much to read
	// Names are said whole, however long they may be.
	name := "com.example." + strings.Repeat("x", wire.MaxName-len("com.example."))
	_, err = c.Driver("GetNameOwner", "s", word(name))
	refused(t, err, "NameHasNoOwner", name)
	_, err = c.Driver("ReleaseName", "s", word(":1"+name[2:]))
	refused(t, err, "InvalidArgs", "starting with ':'", name[2:])
	_, err = c.Call(wire.Header{Path: wire.BusPath, Interface: name, Member: "M", Destination: wire.BusName}, nil)
	refused(t, err, "UnknownInterface", name)
}

func TestNameHasOwner(t *testing.T) {
	b := start(t, allowAll)
	c := b.dial()
	get(c.RequestName("com.example.A", 0))(t)
	for name, want := range map[string]bool{wire.BusName: true, c.Name: true, "com.example.A": true, "com.example.B": false, "": false, "nonsense": false, ":": false} {
		d := get(c.Driver("NameHasOwner", "s", word(name)))(t).Values()
		if got := d.Bool(); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestPropertiesOfTheBus(t *testing.T) {
	c := start(t, allowAll).dial()
	get := func(member, signature string, body client.Write) wire.Decoder {
		m, err := c.Call(wire.Header{Path: wire.BusPath, Interface: properties, Member: member, Destination: wire.BusName, Signature: signature}, body)
		must(t, err)
		return m.Values()
	}
	for name, want := range map[string][]string{
		"Features":   {"ActivatableServicesChanged", "HeaderFiltering"},
		"Interfaces": {"org.freedesktop.DBus.Monitoring", "org.freedesktop.DBus.Debug.Stats"},
	} {
		d := get("Get", "ss", pair(wire.BusName, name))
		var got []string
		if kind := d.Variant(); kind != "as" {
			t.Fatalf("%s is of type %s", name, kind)
		}
		for end := d.Array(4); d.More(end); {
			got = append(got, d.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is %q", name, got)
		}
	}
	d := get("GetAll", "s", word(wire.BusName))
	var names []string
	for end := d.Array(8); d.More(end); {
		d.Struct()
		names = append(names, d.String())
		d.Skip("v")
	}
	same(t, "GetAll", names, "Features", "Interfaces")
	_, err := c.Call(wire.Header{Path: wire.BusPath, Interface: properties, Member: "Set", Destination: wire.BusName, Signature: "ssv"}, func(e *wire.Encoder) {
		e.String(wire.BusName)
		e.String("Features")
		e.Variant("s")
		e.String("x")
	})
	refused(t, err, "PropertyReadOnly")
}

// The description of every object of the bus is XML that names what is there.
func TestIntrospectionNamesWhatIsThere(t *testing.T) {
	c := start(t, allowAll).dial()
	for path, child := range map[string]string{"/": "org/freedesktop/DBus", "/org": "freedesktop/DBus", "/org/freedesktop": "DBus", wire.BusPath: "", "/elsewhere": ""} {
		m := get(c.Call(wire.Header{Path: path, Interface: "org.freedesktop.DBus.Introspectable", Member: "Introspect", Destination: wire.BusName}, nil))(t)
		d := m.Values()
		text := d.String()
		elements := xml.NewDecoder(strings.NewReader(text))
		var children, interfaces []string
		for {
			token, err := elements.Token()
			if err == io.EOF {
				break
			}
			must(t, err)
			e, ok := token.(xml.StartElement)
			if !ok || len(e.Attr) == 0 {
				continue
			}
			switch e.Name.Local {
			case "node":
				children = append(children, e.Attr[0].Value)
			case "interface":
				interfaces = append(interfaces, e.Attr[0].Value)
			}
		}
		if strings.Join(children, " ") != child {
			t.Errorf("%s has the children %q, want %q", path, children, child)
		}
		if !slices.Contains(interfaces, wire.BusName) || slices.Contains(interfaces, properties) != (path == wire.BusPath) {
			t.Errorf("%s has %q", path, interfaces)
		}
	}
}

func TestCredentialsAreTheKernels(t *testing.T) {
	b := start(t, allowAll)
	c, fds := b.dial(), b.dial(client.Options{FDs: true})
	for _, asker := range []*client.Conn{c, fds} {
		for _, about := range []string{c.Name, wire.BusName} {
			m := get(asker.Driver("GetConnectionCredentials", "s", word(about)))(t)
			d := m.Values()
			got := map[string]uint32{}
			var groups []uint32
			for end := d.Array(8); d.More(end); {
				d.Struct()
				key := d.String()
				switch kind := d.Variant(); {
				case key == "UnixGroupIDs":
					for end := d.Array(4); d.More(end); {
						groups = append(groups, d.Uint32())
					}
				case kind == "u" || kind == "h":
					got[key] = d.Uint32()
				default:
					d.Skip(kind)
				}
			}
			must(t, d.Err())
			if got["UnixUserID"] != uint32(uid) || got["ProcessID"] != uint32(os.Getpid()) {
				t.Errorf("%s: %v", about, got)
			}
			if about == c.Name && (!slices.IsSorted(groups) || !slices.Contains(groups, uint32(os.Getgid()))) {
				t.Errorf("groups %v", groups)
			}
			// Only who takes descriptors gets one, and it is of the process.
			if len(m.FDs) > 0 {
				if asker != fds {
					t.Error("a descriptor for one who takes none")
				}
				info := get(os.ReadFile("/proc/self/fdinfo/" + itoa(m.FDs[0])))(t)
				if !bytes.Contains(info, []byte("Pid:\t"+itoa(os.Getpid())+"\n")) {
					t.Errorf("not a descriptor of this process: %s", info)
				}
			} else if asker == fds && about == c.Name && hasPidFDs() {
				t.Error("no ProcessFD")
			}
			m.CloseFDs()
		}
	}
	nothing(t, c)
}

// hasPidFDs says whether the kernel knows SO_PEERPIDFD.
func hasPidFDs() bool {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	fd, err := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, 77)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// Report 2 (dbus-broker#427): a peer's process may be gone when it is asked
// about.
func TestCredentialsOfAProcessThatIsGone(t *testing.T) {
	b := start(t, allowAll)
	c := b.dial(client.Options{FDs: true})
	for range 50 {
		short := get(client.Dial(b.address, client.Options{Timeout: patience}))(t)
		must(t, short.Close())
		m, err := c.Driver("GetConnectionCredentials", "s", word(short.Name))
		if err != nil {
			refused(t, err, "NameHasNoOwner", short.Name)
			continue
		}
		m.CloseFDs()
	}
}

func TestStatsTellWhatThereIs(t *testing.T) {
	b := start(t, allowAll)
	c, other := b.dial(), b.dial()
	must(t, c.AddMatch("type='signal',member='S'"))
	must(t, c.AddMatch("type='signal',member='S'"))
	get(c.RequestName("com.example.A", 0))(t)
	get(c.Send(call(other.Name, "M"), nil))(t)
	settle(t, c)
	ask := func(member, signature string, body client.Write) *client.Message {
		return get(c.Call(wire.Header{Path: wire.BusPath, Interface: "org.freedesktop.DBus.Debug.Stats", Member: member, Destination: wire.BusName, Signature: signature}, body))(t)
	}
	read := func(m *client.Message) map[string]uint32 {
		d, all := m.Values(), map[string]uint32{}
		for end := d.Array(8); d.More(end); {
			d.Struct()
			key := d.String()
			if kind := d.Variant(); kind == "u" {
				all[key] = d.Uint32()
			} else {
				d.Skip(kind)
			}
		}
		must(t, d.Err())
		return all
	}
	for key, want := range map[string]uint32{"ActiveConnections": 2, "MatchRules": 2, "BusNames": 3, "PendingReplies": 1, "IncompleteConnections": 0, "OutgoingBytes": 0} {
		if got := read(ask("GetStats", "", nil))[key]; got != want {
			t.Errorf("%s is %d, want %d", key, got, want)
		}
	}
	for key, want := range map[string]uint32{"MatchRules": 2, "BusNames": 2, "PendingReplies": 1} {
		if got := read(ask("GetConnectionStats", "s", word("com.example.A")))[key]; got != want {
			t.Errorf("%s of the connection is %d, want %d", key, got, want)
		}
	}
	for _, key := range []string{"IncomingBytes", "IncomingFDs", "OutgoingBytes", "OutgoingFDs"} { // as dbus-daemon calls them
		if _, there := read(ask("GetConnectionStats", "s", word(c.Name)))[key]; !there {
			t.Errorf("the connection has no %s", key)
		}
	}
	d := ask("GetAllMatchRules", "", nil).Values()
	var got []string
	for end := d.Array(8); d.More(end); {
		d.Struct()
		got = append(got, d.String())
		for end := d.Array(4); d.More(end); {
			got = append(got, d.String())
		}
	}
	if len(got) > 0 && got[0] == other.Name { // the order of connections is any
		got = append(got[1:], other.Name)
	}
	same(t, "GetAllMatchRules", got, c.Name, "type='signal',member='S'", "type='signal',member='S'", other.Name)
}

// Names are counted as they come and go, those of connections too; a monitor has
// none.
func TestNamesAreCounted(t *testing.T) {
	b := start(t, allowAll)
	c, m := b.dial(), b.dial()
	count := func(now, peak uint32) {
		t.Helper()
		d := get(c.Call(wire.Header{Path: wire.BusPath, Interface: "org.freedesktop.DBus.Debug.Stats", Member: "GetStats", Destination: wire.BusName}, nil))(t).Values()
		want := map[string]uint32{"BusNames": now, "PeakBusNames": peak}
		for end := d.Array(8); d.More(end); {
			d.Struct()
			key := d.String()
			d.Variant()
			if n, looked := want[key]; d.Uint32() != n && looked {
				t.Errorf("%s is not %d", key, n)
			}
		}
	}
	count(2, 2)
	get(c.RequestName("com.example.A", 0))(t)
	get(c.RequestName("com.example.B", 0))(t)
	count(4, 4)
	get(c.ReleaseName("com.example.A"))(t)
	count(3, 4)
	becomeMonitor(t, m)
	count(2, 4)
}

// Who is neither root nor the bus's user may not see others' secrets.
func TestPrivilegedMethods(t *testing.T) {
	b := start(t, allowAll+"<allow_anonymous/>")
	c := b.dial(client.Options{Anonymous: true})
	for _, h := range []wire.Header{
		{Interface: "org.freedesktop.DBus.Monitoring", Member: "BecomeMonitor", Signature: "asu"},
		{Interface: "org.freedesktop.DBus.Verbose", Member: "EnableVerbose"},
		{Interface: wire.BusName, Member: "UpdateActivationEnvironment", Signature: "a{ss}"},
	} {
		h.Path, h.Destination = wire.BusPath, wire.BusName
		body := monitorArgs(0)
		if h.Signature == "a{ss}" {
			body = func(e *wire.Encoder) { e.CloseArray(e.OpenArray(8)) }
		}
		if h.Signature == "" {
			body = nil
		}
		_, err := c.Call(h, body)
		refused(t, err, "AccessDenied")
	}
}

func TestVerboseSwitchesTheLog(t *testing.T) {
	var on []bool
	b := start(t, allowAll, func(o *busOptions) { o.Verbose = func(is bool) { on = append(on, is) } })
	c := b.dial()
	for _, member := range []string{"EnableVerbose", "DisableVerbose"} {
		get(c.Call(wire.Header{Path: wire.BusPath, Interface: "org.freedesktop.DBus.Verbose", Member: member, Destination: wire.BusName}, nil))(t)
	}
	b.Do(func() {
		if !slices.Equal(on, []bool{true, false}) {
			t.Error(on)
		}
	})
}
