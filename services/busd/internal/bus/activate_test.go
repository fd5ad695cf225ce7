package bus_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// A starter is a machine with services that tests start and fail by hand.
type starter struct {
	names []string

	mu      sync.Mutex
	started []string
	failed  map[string]func(name, text string)
	set     map[string]string
}

func (s *starter) activation() bus.Activation {
	s.failed = map[string]func(string, string){}
	return bus.Activation{
		Find: func(name string) (bus.Service, bool) {
			return bus.Service{Name: name, Unit: name + ".service"}, slices.Contains(s.names, name)
		},
		Names: func() []string { return s.names },
		Start: func(service bus.Service, failed func(name, text string)) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.started = append(s.started, service.Name)
			s.failed[service.Name] = failed
		},
		Update: func(set map[string]string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.set = set
		},
	}
}

// starts waits until so many programs have been started.
func (s *starter) starts(t testing.TB, n int) []string {
	t.Helper()
	var all []string
	if !eventually(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		all = slices.Clone(s.started)
		return len(all) >= n
	}) || len(all) != n {
		t.Errorf("%q were started, want %d", all, n)
	}
	return all
}

func (s *starter) fail(name, errorName, text string) {
	s.mu.Lock()
	failed := s.failed[name]
	s.mu.Unlock()
	failed(errorName, text)
}

const service = "com.example.Service"

func withServices(s *starter) edit {
	return func(o *busOptions) { o.Activation = s.activation() }
}

func startService(t testing.TB, c *client.Conn, name string) (serial uint32) {
	t.Helper()
	return get(c.Send(wire.Header{Type: wire.MethodCall, Path: wire.BusPath, Interface: wire.BusName, Member: "StartServiceByName", Destination: wire.BusName, Signature: "su"}, startArgs(name)))(t)
}

func TestServiceIsStartedOnceForAllWhoWait(t *testing.T) {
	s := &starter{names: []string{service}}
	b := start(t, allowAll, withServices(s))
	one, two, three := b.dial(), b.dial(client.Options{FDs: true}), b.dial()
	first := startService(t, one, service)
	get(two.Send(call(service, "A"), nil, marked(t, 8)))(t)
	settle(t, two)
	get(two.Send(call(service, "B"), nil))(t)
	h := quietly(service, "S")
	h.Type = wire.Signal
	get(three.Send(h, nil))(t)
	settle(t, three)
	same(t, "Start", s.starts(t, 1), service)
	if n := b.stats().Now.Activations; n != 1 {
		t.Errorf("%d activations", n)
	}
	program := b.dial(client.Options{FDs: true})
	requestName(program, t, service, 0)
	// The reply comes before what waited.
	var got []*client.Message
	for range 5 {
		got = append(got, next(t, program))
	}
	if got[0].Member != "NameAcquired" || got[1].Type != wire.MethodReturn {
		t.Errorf("%s, then %s", describe(got[0]), describe(got[1]))
	}
	for i, want := range []string{two.Name + " A", two.Name + " B", three.Name + " S"} {
		if m := got[2+i]; m.Sender+" "+m.Member != want {
			t.Errorf("got %s %s, want %s", m.Sender, m.Member, want)
		}
	}
	checkFDs(t, got[2], 8)
	must(t, program.Reply(got[2], "", nil))
	must(t, program.Reply(got[3], "", nil))
	if m := next(t, one); m.ReplySerial != first || describe(m) != "type 2 from org.freedesktop.DBus 1" {
		t.Errorf("StartServiceByName: %s", describe(m))
	}
	for range 2 {
		next(t, two)
	}
	startService(t, one, service)
	if m := next(t, one); describe(m) != "type 2 from org.freedesktop.DBus 2" {
		t.Errorf("of one that runs: %s", describe(m))
	}
}

// What waited for a service is not charged a second time when it goes on.
func TestAHalfUsedAccountIsEnoughForWhatWaitsForAService(t *testing.T) {
	s := &starter{names: []string{service}}
	b := start(t, allowAll, withServices(s), func(o *busOptions) { o.Quota.FDs = 10 })
	from := b.dial(client.Options{FDs: true})
	fd := marked(t, 2)
	get(from.Send(call(service, "M"), nil, fd, fd, fd, fd, fd, fd))(t)
	settle(t, from)
	s.starts(t, 1)
	program := b.dial(client.Options{FDs: true})
	requestName(program, t, service, 0)
	for {
		m := next(t, program)
		if m.Member == "M" {
			checkFDs(t, m, 2, 2, 2, 2, 2, 2)
			return
		}
	}
}

// Report 22 (dbus-broker#209, #28): a start that fails is told at once, and
// the next request tries again.
func TestFailedStartIsToldAndForgotten(t *testing.T) {
	s := &starter{names: []string{service}}
	b := start(t, allowAll, withServices(s))
	c := b.dial()
	for round := 1; round <= 3; round++ {
		serial := get(c.Send(call(service, "M"), nil))(t)
		by := startService(t, c, service)
		settle(t, c)
		s.starts(t, round)
		s.fail(service, driverError+"Spawn.ChildExited", "Process "+service+" exited with status 1")
		for _, want := range []uint32{serial, by} {
			m := next(t, c)
			if m.ReplySerial != want || m.ErrorName != driverError+"Spawn.ChildExited" || !strings.Contains(describe(m), "exited with status 1") {
				t.Errorf("got %s", describe(m))
			}
		}
		s.fail(service, "com.example.Late", "said twice")
		nothing(t, c)
	}
}

func TestServiceStartTimeout(t *testing.T) {
	s := &starter{names: []string{service}}
	b := start(t, allowAll+`<limit name="service_start_timeout">100</limit>`, withServices(s))
	c := b.dial()
	_, err := c.Call(call(service, "M"), nil)
	refused(t, err, "TimedOut", "Failed to activate service '"+service+"': timed out (service_start_timeout=100ms)")
}

func TestNoAutoStartStartsNothing(t *testing.T) {
	s := &starter{names: []string{service}}
	c := start(t, allowAll, withServices(s)).dial()
	h := call(service, "M")
	h.Flags = wire.NoAutoStart
	_, err := c.Call(h, nil)
	refused(t, err, "NameHasNoOwner")
	s.starts(t, 0)
	same(t, "ListActivatableNames", stringList(t, c, "ListActivatableNames"), wire.BusName, service)
}

// All who wait are counted, whether for one name or for several: each costs
// memory until the program is there, and asking costs nothing.
func TestMaxPendingServiceStarts(t *testing.T) {
	s := &starter{names: []string{"com.example.A", "com.example.B", "com.example.C"}}
	b := start(t, allowAll+`<limit name="max_pending_service_starts">3</limit>`, withServices(s))
	c, leaver := b.dial(client.Options{FDs: true}), b.dial()
	for _, name := range s.names[:2] {
		get(c.Send(call(name, "M"), nil))(t)
	}
	settle(t, c)
	startService(t, leaver, "com.example.A") // joins
	settle(t, leaver)
	_, err := c.Call(call("com.example.C", "M"), nil, marked(t, 1))
	refused(t, err, "LimitsExceeded", "max_pending_service_starts=3")
	startService(t, c, "com.example.A")
	if m := next(t, c); m.ErrorName != driverError+"LimitsExceeded" {
		t.Errorf("one more that joins got %s", describe(m))
	}
	must(t, leaver.Close())
	eventually(func() bool { return b.stats().Now.Connections == 1 })
	get(c.Send(call("com.example.A", "N"), nil))(t)
	nothing(t, c)
	for _, name := range s.names[:2] {
		s.fail(name, driverError+"Spawn.Failed", "no")
	}
	for range 3 {
		next(t, c)
	}
}

// A name that came while service files were read for it is not started: what
// waited goes to its owner, installed or not.
func TestNameComesWhileServicesAreRead(t *testing.T) {
	for _, installed := range []bool{false, true} {
		s, refreshed := &starter{}, make(chan func(), 2)
		b := start(t, allowAll, withServices(s), func(o *busOptions) {
			o.Activation.Changing = func() bool { return true }
			o.Activation.Refresh = func(done func()) { refreshed <- done }
		})
		c, owner := b.dial(), b.dial()
		get(c.Send(call(service, "M"), nil))(t)
		startService(t, c, service)
		dones := []func(){<-refreshed, <-refreshed}
		get(owner.RequestName(service, 0))(t)
		next(t, owner) // NameAcquired
		if installed {
			b.Do(func() { s.names = []string{service} })
		}
		for _, done := range dones {
			done()
		}
		if m := next(t, owner); m.Member != "M" || m.Sender != c.Name {
			t.Errorf("installed %v: the owner got %s", installed, describe(m))
		}
		want := "type 2 from org.freedesktop.DBus 1"
		if !installed {
			want = `type 3 from org.freedesktop.DBus org.freedesktop.DBus.Error.ServiceUnknown "The name com.example.Service was not provided by any .service files"`
		}
		if m := next(t, c); describe(m) != want {
			t.Errorf("installed %v: StartServiceByName got %s", installed, describe(m))
		}
		s.starts(t, 0)
	}
}

// What is no name is provided by no service file, and so does not wait for
// those that are being read.
func TestWhatIsNoNameIsNotLookedFor(t *testing.T) {
	b := start(t, allowAll, func(o *busOptions) {
		o.Activation.Changing = func() bool { return true }
		o.Activation.Refresh = func(func()) {}
	})
	c := b.dial()
	for _, name := range []string{"", "x", "com..example", "com.example." + strings.Repeat("x", wire.MaxName)} {
		_, err := c.Driver("StartServiceByName", "su", startArgs(name))
		refused(t, err, "ServiceUnknown", "The name "+name+" was not provided by any .service files")
	}
}

// What waits while service files are read is not overtaken by what is sent when
// the name has come.
func TestNothingOvertakesWhatWaitsForServiceFiles(t *testing.T) {
	refreshed := make(chan func(), 1)
	b := start(t, allowAll, withServices(&starter{}), func(o *busOptions) {
		o.Activation.Changing = func() bool { return true }
		o.Activation.Refresh = func(done func()) { refreshed <- done }
	})
	c, owner := b.dial(), b.dial()
	get(c.Send(call(service, "First"), nil))(t)
	done := <-refreshed
	get(owner.RequestName(service, 0))(t)
	get(c.Send(call(service, "Second"), nil))(t)
	settle(t, c)
	done()
	var got []string
	for _, m := range settle(t, owner) {
		if m.Sender == c.Name {
			got = append(got, m.Member)
		}
	}
	same(t, "the owner", got, "First", "Second")
}

// Whom the limit of starts keeps from waiting behind others for a service is
// told so, and not that there is none.
func TestTooManyWhoWaitForServiceFilesAreToldSo(t *testing.T) {
	s, refreshed := &starter{}, make(chan func(), 1)
	b := start(t, allowAll+`<limit name="max_pending_service_starts">1</limit>`, withServices(s), func(o *busOptions) {
		o.Activation.Changing = func() bool { return true }
		o.Activation.Refresh = func(done func()) { refreshed <- done }
	})
	c := b.dial()
	get(c.Send(call(service, "First"), nil))(t)
	done := <-refreshed
	_, err := c.Call(call("com.example.None", "M"), nil)
	refused(t, err, "ServiceUnknown")
	b.Do(func() { s.names = []string{service} })
	_, err = c.Call(call(service, "Second"), nil)
	refused(t, err, "LimitsExceeded", "max_pending_service_starts=1")
	done()
	s.starts(t, 1)
	s.fail(service, driverError+"Failed", "no more")
	next(t, c)
}

// CVE-2014-3477: what may not be delivered after all is an error of its
// sender; the service has its name and hears of nothing.
func TestRefusedMessageThatWaitedIsNotTheServicesFault(t *testing.T) {
	s := &starter{names: []string{service}}
	b := start(t, systemLike+`<policy context="default"><allow own="com.example.Service"/><allow send_destination="com.example.Service"/><deny receive_interface="com.example.I" receive_type="method_call"/></policy>`, withServices(s))
	c, program := b.dial(), b.dial()
	get(c.Send(call(service, "M"), nil))(t)
	settle(t, c)
	s.starts(t, 1)
	if n := get(program.RequestName(service, 0))(t); n != 1 {
		t.Errorf("RequestName: %d", n)
	}
	if m := next(t, c); m.ErrorName != driverError+"AccessDenied" || !strings.Contains(describe(m), "Rejected receive message") {
		t.Errorf("the caller got %s", describe(m))
	}
	for _, m := range settle(t, program) {
		if m.Member != "NameAcquired" {
			t.Errorf("the service got %s", describe(m))
		}
	}
}

// What may not be sent starts nothing.
func TestNothingIsStartedForWhoMayNot(t *testing.T) {
	s := &starter{names: []string{service}}
	c := start(t, systemLike, withServices(s)).dial()
	_, err := c.Call(call(service, "M"), nil)
	refused(t, err, "AccessDenied", "Rejected send message")
	s.starts(t, 0)
}

// Who waits and leaves takes its messages along; the start goes on.
func TestWaitingCallerLeaves(t *testing.T) {
	s := &starter{names: []string{service}}
	b := start(t, allowAll, withServices(s))
	c, other := b.dial(client.Options{FDs: true}), b.dial()
	get(c.Send(call(service, "Gone"), nil, marked(t, 1)))(t)
	settle(t, c)
	get(other.Send(quietly(service, "Here"), nil))(t)
	settle(t, other)
	c.Close()
	eventually(func() bool { return b.stats().Now.Connections == 1 })
	program := b.dial()
	get(program.RequestName(service, 0))(t)
	if m := next(t, program); m.Member == "NameAcquired" {
		m = next(t, program)
		if m.Member != "Here" {
			t.Errorf("got %s", describe(m))
		}
	}
	nothing(t, program)
}

func TestServiceLeavesWithMessagesThatWaited(t *testing.T) {
	s := &starter{names: []string{service}}
	b := start(t, allowAll, withServices(s))
	c := b.dial()
	get(c.Send(call(service, "M"), nil))(t)
	settle(t, c)
	program := b.dial()
	requestName(program, t, service, 0)
	program.Close()
	if m := next(t, c); m.ErrorName != noReply {
		t.Errorf("got %s", describe(m))
	}
}

// systemd starts units: it is asked by a signal, also before it has come.
func TestUnitsAreStartedBySystemd(t *testing.T) {
	s := &starter{names: []string{service}}
	b := start(t, allowAll, func(o *busOptions) { o.Activation = s.activation(); o.Activation.Systemd = true })
	c, forger := b.dial(), b.dial()
	get(c.Send(call(service, "M"), nil))(t)
	settle(t, c)
	systemd := b.dial()
	requestName(systemd, t, "org.freedesktop.systemd1", 0)
	var m *client.Message
	for m == nil || m.Member != "ActivationRequest" {
		m = next(t, systemd)
	}
	if d := m.Values(); m.Type != wire.Signal || m.Interface != "org.freedesktop.systemd1.Activator" || m.Path != wire.BusPath || m.Sender != wire.BusName || d.String() != service+".service" {
		t.Errorf("got %s", describe(m))
	}
	s.starts(t, 0)
	// CVE-2015-0245: nobody but systemd says that it has failed.
	failure := wire.Header{Type: wire.Signal, Path: "/org/freedesktop/systemd1", Interface: "org.freedesktop.systemd1.Activator", Member: "ActivationFailure", Destination: wire.BusName, Signature: "sss"}
	body := func(e *wire.Encoder) {
		e.String(service + ".service")
		e.String("org.freedesktop.systemd1.UnitMasked")
		e.String("Unit is masked.")
	}
	get(forger.Send(failure, body))(t)
	settle(t, forger)
	nothing(t, c)
	get(systemd.Send(failure, body))(t)
	if m := next(t, c); m.ErrorName != "org.freedesktop.systemd1.UnitMasked" || !strings.Contains(describe(m), "Unit is masked.") {
		t.Errorf("got %s", describe(m))
	}
	get(systemd.Send(failure, body))(t) // nobody waits any more
	nothing(t, systemd)
}

// Where systemd starts services it is on its way, whether or not a file has its
// name.
func TestCallsWaitForSystemd(t *testing.T) {
	const name = "org.freedesktop.systemd1"
	for _, starts := range []bool{true, false} {
		s := &starter{}
		b := start(t, allowAll, func(o *busOptions) { o.Activation = s.activation(); o.Activation.Systemd = starts })
		c, systemd := b.dial(), b.dial()
		serial := get(c.Send(call(name, "M"), nil))(t)
		settle(t, systemd)
		if !starts {
			if m := next(t, c); m.ReplySerial != serial || !strings.HasSuffix(m.ErrorName, ".ServiceUnknown") {
				t.Errorf("got %s", describe(m))
			}
			continue
		}
		started := startService(t, c, name)
		settle(t, c)
		requestName(systemd, t, name, 0)
		var m *client.Message
		for m == nil || m.Type != wire.MethodCall {
			m = next(t, systemd)
		}
		if m.Member != "M" || m.Sender != c.Name {
			t.Errorf("systemd got %s", describe(m))
		}
		if m := next(t, c); m.ReplySerial != started || m.Type != wire.MethodReturn {
			t.Errorf("got %s", describe(m))
		}
		s.starts(t, 0)
	}
}

func TestEnvironmentOfServices(t *testing.T) {
	s := &starter{}
	b := start(t, allowAll, withServices(s))
	c := b.dial()
	update := func(pairs ...string) error {
		_, err := c.Driver("UpdateActivationEnvironment", "a{ss}", func(e *wire.Encoder) {
			mark := e.OpenArray(8)
			for i := 0; i < len(pairs); i += 2 {
				e.DictEntry()
				e.String(pairs[i])
				e.String(pairs[i+1])
			}
			e.CloseArray(mark)
		})
		return err
	}
	must(t, update("A", "1", "B", ""))
	s.mu.Lock()
	if len(s.set) != 2 || s.set["A"] != "1" {
		t.Error(s.set)
	}
	s.mu.Unlock()
	refused(t, update("", "x"), "InvalidArgs")
	refused(t, update("A=B", "x"), "InvalidArgs")
}

// What waits for a service is bounded, however small its messages are, and a
// flood of them does not hold up the bus.
func TestMessagesThatWaitForAServiceAreBounded(t *testing.T) {
	s := &starter{names: []string{service}}
	b := start(t, allowAll+`<limit name="max_incoming_bytes">2000000</limit>`, withServices(s))
	c, other := b.dial(), b.dial()
	data := client.Marshal(func() wire.Header { h := quietly(service, "M"); h.Serial = 5; return h }(), nil)
	stream := []byte(strings.Repeat(string(data), 1000))
	for range 40 {
		must(t, c.SendRaw(stream))
		nothing(t, other)
	}
	refusals := 0
	for _, m := range settle(t, c) {
		if m.ErrorName == driverError+"LimitsExceeded" {
			refusals++
		}
	}
	if refusals == 0 {
		t.Error("no message was refused")
	}
	s.fail(service, driverError+"Spawn.Failed", "no")
	c.Close()
}
