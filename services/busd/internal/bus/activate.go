package bus

import (
	"fmt"
	"log/slog"
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
	// them, or the configuration has since it was read; Refresh reads the
	// former, and calls done from anywhere. They may be nil.
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
	come    []string // names that came while a message was handled
	waiting int      // requests in all of them

	refreshing []*refresh // for names that may be known in a moment, in order
	claims     int        // of names that may be allowed in a moment
}

func (s *starts) len() int { return len(s.byName) }

// A start is one of them: there is one for a name, however many ask for it.
type start struct {
	service Service
	waiting []request
	bytes   int // in the messages of waiting
	timer   timer
}

// service is the one that provides a name. systemd comes by itself where it
// starts the others, and needs no file that says so.
func (b *Bus) service(name string) (Service, bool) {
	if b.opt.Activation.Find != nil {
		if s, known := b.opt.Activation.Find(name); known {
			return s, true
		}
	}
	if b.opt.Activation.Systemd && name == systemdName {
		return Service{Name: systemdName}, true
	}
	return Service{}, false
}

func unknownService(name string) *refusal {
	return refused(serviceUnknown, "The name %s was not provided by any .service files", name)
}

func tooManyStarts(name string, limit int) *refusal {
	return refused(limitsExceeded, "The maximum number of pending activations has been reached, activation of %s failed (max_pending_service_starts=%d)", name, limit)
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
	if known {
		if why := b.mayStart(p, m, service); why != nil {
			return why
		}
	}
	r := request{from: p, serial: m.Serial, quiet: m.Flags&wire.NoReplyExpected != 0, fds: b.handled.fds}
	r.message = append(slices.Clip(m.AppendHeader(nil, p.name)), b.handled.body...)
	r.header = len(r.message) - len(b.handled.body)
	waiting := b.starts.byName[m.Destination]
	if waiting != nil && int64(waiting.bytes+len(r.message)) > b.settings.Limits.MaxIncomingBytes || !p.user.take(len(r.message), int(m.UnixFDs)) {
		b.stats.OverLimit++
		return refused(limitsExceeded, "The destination service '%s' has a full message queue", m.Destination)
	}
	r.payer = p.user
	r.payer.uses++
	if b.handled.fds != nil {
		b.handled.fds.refs++
	}
	if !known || b.starts.isRefreshing(m.Destination) { // behind those that came before
		return b.awaitRefresh(m.Destination, r)
	}
	return b.start(service, r)
}

// mayStart asks the policy whether a message may go to a service that is not
// there yet. When it has come, it is asked again about the service's owner.
func (b *Bus) mayStart(p *Peer, m *wire.Message, service Service) *refusal {
	return b.maySend(p, m, policy.Names{service.Name})
}

// start lets a request wait for a service, which the first one starts.
func (b *Bus) start(service Service, r request) *refusal {
	// As in dbus-daemon it is all that wait who are counted.
	if limit := b.settings.Limits.MaxPendingServiceStarts; b.starts.waiting >= limit {
		b.endRequest(&r)
		return tooManyStarts(service.Name, limit)
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

// startFailed tells everybody who waits that the name will not come.
func (b *Bus) startFailed(s *start, name, text string) {
	b.stats.ActivationsFailed++
	b.endStart(s)
	b.log.Warn("activation failed", slog.String("name", s.service.Name), slog.String("error_name", name), slog.String("err", text))
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
// which go on. Those that await a refresh stay: found sees that it has left.
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
