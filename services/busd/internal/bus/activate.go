package bus

import (
	"fmt"
	"slices"
	"strings"

	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// Activation is what starts programs for names that nobody owns. Its functions
// are called by the bus thread and must return at once.
type Activation struct {
	// Systemd lets units be started by systemd, which is asked over the bus.
	Systemd bool

	// Find is the service that provides a name, Names are all of them. nil is
	// none.
	Find  func(name string) (Service, bool)
	Names func() []string

	// Start starts a service's program. failed is called, from anywhere and at
	// most once, if it cannot be started or ends in a way that says that the
	// name will not come: with the error and the text for whoever waits.
	Start func(s Service, failed func(errorName, text string))

	// Stop ends the program of a service whose name did not come in time. It
	// may be nil.
	Stop func(s Service)

	// Changing says that service files have changed since Find last knew
	// them; Refresh reads them, and calls done from anywhere. They may be nil.
	Changing func() bool
	Refresh  func(done func())

	// Update adds to the environment of programs that are started from now on.
	// It is nil where that is not allowed.
	Update func(environment map[string]string)
}

// Service is one that can be started.
type Service struct {
	Name    string // the bus name
	Unit    string // systemd's, "" for none
	Program any    // what Start needs; the bus does not look at it
}

const (
	systemdName        = "org.freedesktop.systemd1"
	activatorInterface = "org.freedesktop.systemd1.Activator"

	startedNow     = 1 // replies of StartServiceByName
	alreadyRunning = 2
)

// starts are the activations that are under way, by the name that is awaited.
type starts struct {
	byName  map[string]*start
	owned   []string // names that came while a message was handled
	waiting int      // requests in all of them

	looking int // requests for names that may be known in a moment
}

func (s *starts) len() int { return len(s.byName) }

// A start is one of them: there is one for a name, however many ask for it.
type start struct {
	service Service
	waiting []request
	bytes   int // in the messages of waiting
	timer   timer
}

// A request is what waits for a name: a message for it, or somebody who only
// wants it to be there.
type request struct {
	from    *Peer // nil for the bus itself
	serial  uint32
	quiet   bool   // it wants no reply
	message []byte // padded header and body; nil for StartServiceByName
	header  int
	fds     *fdSet
	payer   *user // whose quota message and fds count against; nil with neither
}

func (b *Bus) startServiceByName(p *Peer, d *wire.Decoder) *refusal {
	name := d.String()
	service, known := b.service(name)
	if !known && b.changing() {
		return b.lookAgain(name, request{from: p, serial: b.msg.Serial, quiet: b.msg.Flags&wire.NoReplyExpected != 0})
	}
	if !known {
		return unknownService(name)
	}
	if b.find(name) != nil {
		b.reply(p, "u").Uint32(alreadyRunning)
		b.say(p)
		return nil
	}
	return b.start(service, request{from: p, serial: b.msg.Serial, quiet: b.msg.Flags&wire.NoReplyExpected != 0})
}

func (b *Bus) service(name string) (Service, bool) {
	if b.opt.Activation.Find == nil {
		return Service{}, false
	}
	return b.opt.Activation.Find(name)
}

func unknownService(name string) *refusal {
	return refused(serviceUnknown, "The name %s was not provided by any .service files", name)
}

// toAbsent handles a message for a name that nobody has: it waits while a
// program is started, if there is one for it.
func (b *Bus) toAbsent(p *Peer, m *wire.Message) *refusal {
	if m.Flags&wire.NoAutoStart != 0 {
		return refused(nameHasNoOwner, "Name %q does not exist", m.Destination)
	}
	service, known := b.service(m.Destination)
	if !known && !b.changing() {
		return unknownService(m.Destination)
	}
	if !known {
		service.Name = m.Destination
	}
	if m.Type > wire.Signal {
		return refused(accessDenied, "Message bus will not accept messages of unknown type")
	}
	pm := policyMessage(m, false)
	if v := p.policy.CanSend(&pm, policy.Names{service.Name}); !v.Allow {
		return b.rejected("send", v.Matched, p, nil, m, false)
	}
	r := request{from: p, serial: m.Serial, quiet: m.Flags&wire.NoReplyExpected != 0, header: m.HeaderLen, fds: b.fds}
	r.message = append(slices.Clip(m.AppendHeader(nil, p.name)), b.body...)
	r.header = len(r.message) - len(b.body)
	waiting := b.starts.byName[service.Name]
	if waiting != nil && int64(waiting.bytes+len(r.message)) > b.settings.Limits.MaxIncomingBytes || !p.user.take(len(r.message), int(m.UnixFDs)) {
		b.stats.OverLimit++
		return refused(limitsExceeded, "The destination service '%s' has a full message queue", m.Destination)
	}
	r.payer = p.user
	r.payer.uses++
	if b.fds != nil {
		b.fds.refs++
	}
	if !known {
		return b.lookAgain(service.Name, r)
	}
	return b.start(service, r)
}

// changing says whether a name that is not known may be known in a moment: a
// program that was installed just now is started all the same.
func (b *Bus) changing() bool {
	return b.opt.Activation.Changing != nil && b.opt.Activation.Changing()
}

// lookAgain lets a request wait until the service files were read anew.
func (b *Bus) lookAgain(name string, r request) *refusal {
	if limit := b.settings.Limits.MaxPendingServiceStarts; b.starts.looking >= limit {
		b.endRequest(&r)
		return unknownService(name)
	}
	name = strings.Clone(name)
	b.starts.looking++
	b.opt.Activation.Refresh(func() {
		b.Post(func() {
			b.starts.looking--
			if r.from.state != active {
				b.endRequest(&r)
				return
			}
			service, known := b.service(name)
			if b.find(name) != nil && (known || r.message != nil) { // it has come by itself
				b.resumeOne(name, &r)
				return
			}
			why := unknownService(name)
			if known {
				why = b.start(service, r)
			} else {
				b.endRequest(&r)
			}
			if why != nil {
				b.sendError(r.from, r.serial, why.name, why.text)
			}
		})
	})
	return nil
}

// add lets one more request wait.
func (b *Bus) add(s *start, r request) {
	s.waiting = append(s.waiting, r)
	s.bytes += len(r.message)
	b.starts.waiting++
}

// endRequest ends the waiting of a request, and what it costs its user.
func (b *Bus) endRequest(r *request) {
	if r.payer != nil {
		fds := 0
		if r.fds != nil {
			fds = len(r.fds.fds)
		}
		r.payer.give(len(r.message), fds)
		b.leave(r.payer)
	}
	b.releaseFDs(r.fds)
}

// start lets a request wait for a service, which the first one starts.
func (b *Bus) start(service Service, r request) *refusal {
	// As in dbus-daemon it is all that wait who are counted.
	if limit := b.settings.Limits.MaxPendingServiceStarts; b.starts.waiting >= limit {
		b.endRequest(&r)
		return refused(limitsExceeded, "The maximum number of pending activations has been reached, activation of %s failed (max_pending_service_starts=%d)", service.Name, limit)
	}
	if s := b.starts.byName[service.Name]; s != nil {
		b.add(s, r)
		return nil
	}
	service.Name = strings.Clone(service.Name)
	s := &start{service: service}
	b.add(s, r)
	if b.starts.byName == nil {
		b.starts.byName = map[string]*start{}
	}
	b.starts.byName[service.Name] = s
	b.stats.Activations++
	limit := b.settings.Limits.ServiceStartTimeout
	s.timer.fire = func() {
		if b.opt.Activation.Stop != nil {
			b.opt.Activation.Stop(service)
		}
		b.startFailed(s, errorPrefix+"TimedOut", fmt.Sprintf("Failed to activate service '%s': timed out (service_start_timeout=%dms)", service.Name, limit.Milliseconds()))
	}
	b.set(&s.timer, limit)
	switch {
	case b.opt.Activation.Systemd && service.Name == systemdName:
		// It will come by itself, and nothing else can start it.
	case b.opt.Activation.Systemd && service.Unit != "":
		b.askSystemd(s)
	default:
		b.opt.Activation.Start(service, func(name, text string) {
			b.Post(func() {
				if b.starts.byName[service.Name] == s {
					b.startFailed(s, name, text)
				}
			})
		})
	}
	return nil
}

// askSystemd has systemd start the unit of a service.
func (b *Bus) askSystemd(s *start) {
	e := b.begin(wire.Header{Type: wire.Signal, Path: BusPath, Interface: activatorInterface, Member: "ActivationRequest", Destination: systemdName, Signature: "s"})
	e.String(s.service.Unit)
	b.sayToSystemd()
}

// systemd is whom a call for systemd is sent to: the peer itself once there is
// one.
func (b *Bus) systemd() string {
	if to := b.find(systemdName); to != nil {
		return to.name
	}
	return systemdName
}

// sayToSystemd sends systemd what begin has begun, when it has come. Monitors
// see it now.
func (b *Bus) sayToSystemd() {
	if to := b.find(systemdName); to != nil {
		b.say(to)
		return
	}
	k := b.finish()
	data := slices.Clone(b.arena[k.at : k.at+k.n])
	if b.watched() {
		b.readBack(k)
		b.capture(nil, k)
	} else {
		b.arena = b.arena[:k.at]
	}
	header, _, _ := wire.Frame(data)
	if why := b.start(Service{Name: systemdName}, request{message: data, header: header}); why != nil {
		b.log.Warn("systemd cannot be asked to start a unit", "err", why.text)
	}
}

func isActivationFailure(m *wire.Message) bool {
	return m.Type == wire.Signal && m.Interface == activatorInterface && m.Member == "ActivationFailure"
}

// activationFailed hears from systemd that a unit did not start. Nobody else
// is believed (CVE-2015-0245).
func (b *Bus) activationFailed(p *Peer, m *wire.Message) *refusal {
	if b.find(systemdName) != p || !b.privileged(p) {
		return refused(accessDenied, "Only systemd can tell that an activation has failed")
	}
	if m.Signature != "sss" {
		return refused(invalidArgs, "ActivationFailure has wrong args (%q, expected \"sss\")", m.Signature)
	}
	d := m.Decode(b.body)
	unit, name, text := d.String(), strings.Clone(d.String()), strings.Clone(d.String())
	if !wire.ValidErrorName(name) {
		name = failed
	}
	for _, s := range b.starts.byName {
		if s.service.Unit == unit && unit != "" {
			b.startFailed(s, name, text)
		}
	}
	return nil
}

// started notes that a name has come; what waited for it goes on when the
// message that brought it is handled.
func (b *Bus) started(name string) {
	if b.starts.byName[name] != nil {
		b.starts.owned = append(b.starts.owned, name)
	}
}

// resume goes on with everything that waited for a name. What cannot be
// delivered after all is an error of its sender alone (CVE-2014-3477).
func (b *Bus) resume() {
	if len(b.starts.owned) == 0 {
		return
	}
	for len(b.starts.owned) > 0 {
		name := b.starts.owned[0]
		b.starts.owned = b.starts.owned[1:]
		s := b.starts.byName[name]
		if s == nil || b.find(name) == nil {
			continue
		}
		b.endStart(s)
		for i := range s.waiting {
			b.resumeOne(name, &s.waiting[i])
		}
	}
	b.starts.owned = nil
}

func (b *Bus) resumeOne(name string, r *request) {
	defer b.endRequest(r)
	to := b.find(name)
	switch {
	case r.message == nil:
		if !r.quiet {
			b.begin(wire.Header{Type: wire.MethodReturn, Flags: wire.NoReplyExpected, ReplySerial: r.serial, Destination: r.from.name, Signature: "u"}).Uint32(startedNow)
			b.say(r.from)
		}
		return
	case to == nil: // it has gone while others were served
		if r.from != nil {
			b.sendError(r.from, r.serial, serviceUnknown, "The service '"+name+"' has left the bus again")
		}
		return
	case r.from == nil:
		b.arena = append(b.arena, r.message...)
		b.give(to, packet{at: len(b.arena) - len(r.message), n: len(r.message)})
		return
	}
	if err := b.msg.Parse(r.message[:r.header]); err != nil {
		panic("busd: a message that was accepted is invalid: " + err.Error())
	}
	b.body, b.fds, b.made, b.big = r.message[r.header:], r.fds, false, nil
	if why := b.unicast(r.from, to, &b.msg); why != nil {
		b.refuse(r.from, why)
	}
	b.body, b.fds = nil, nil
}

// startFailed tells everybody who waits that the name will not come.
func (b *Bus) startFailed(s *start, name, text string) {
	b.stats.ActivationsFailed++
	b.endStart(s)
	b.log.Warn("activation failed", "name", s.service.Name, "error", name, "err", text)
	for i := range s.waiting {
		if r := &s.waiting[i]; r.from != nil {
			b.sendError(r.from, r.serial, name, text)
		}
		b.endRequest(&s.waiting[i])
	}
}

func (b *Bus) endStart(s *start) {
	b.cancel(&s.timer)
	b.starts.waiting -= len(s.waiting)
	delete(b.starts.byName, s.service.Name)
}

// forgetStarts takes the requests of a peer that leaves out of all starts,
// which go on.
func (b *Bus) forgetStarts(p *Peer) {
	for _, s := range b.starts.byName {
		s.waiting = slices.DeleteFunc(s.waiting, func(r request) bool {
			if r.from == p {
				s.bytes -= len(r.message)
				b.starts.waiting--
				b.endRequest(&r)
			}
			return r.from == p
		})
	}
}

func (b *Bus) updateActivationEnvironment(p *Peer, d *wire.Decoder) *refusal {
	if !b.privileged(p) {
		return refused(accessDenied, "Only the bus's own user and root may change the environment of activated services")
	}
	if b.opt.Activation.Update == nil {
		return refused(accessDenied, "Cannot change activation environment on a system bus.")
	}
	set := map[string]string{}
	var assignments []string
	for end := d.Array(8); d.More(end); {
		d.Struct()
		key, value := strings.Clone(d.String()), strings.Clone(d.String())
		if key == "" || strings.ContainsAny(key, "=\x00") {
			return refused(invalidArgs, "%q is no name of an environment variable", key)
		}
		set[key] = value
		assignments = append(assignments, key+"="+value)
	}
	b.opt.Activation.Update(set)
	if b.opt.Activation.Systemd {
		slices.Sort(assignments)
		e := b.begin(wire.Header{Type: wire.MethodCall, Flags: wire.NoReplyExpected, Path: "/org/freedesktop/systemd1", Interface: "org.freedesktop.systemd1.Manager", Member: "SetEnvironment", Destination: b.systemd(), Signature: "as"})
		writeStrings(e, assignments)
		b.sayToSystemd()
	}
	b.ack(p)
	return nil
}

func (b *Bus) listActivatableNames(p *Peer, _ *wire.Decoder) *refusal {
	names := []string{BusName}
	if b.opt.Activation.Names != nil {
		for _, name := range b.opt.Activation.Names() {
			if name != BusName {
				names = append(names, name)
			}
		}
	}
	writeStrings(b.reply(p, "as"), names)
	b.say(p)
	return nil
}

// ServicesChanged tells everybody who watches that other services can be
// started now.
func (b *Bus) ServicesChanged() {
	b.begin(wire.Header{Type: wire.Signal, Flags: wire.NoReplyExpected, Path: BusPath, Interface: BusName, Member: "ActivatableServicesChanged"})
	b.announce()
}
