package bus

import (
	"slices"
	"strings"

	"quartet/services/busd/internal/wire"
)

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

// changing says whether a name that is not known may be known in a moment: a
// program that was installed just now is started all the same.
func (b *Bus) changing() bool {
	return b.opt.Activation.Changing != nil && b.opt.Activation.Changing()
}

// A refresh is a request for a name that waits until the service files were
// read anew.
type refresh struct {
	name string
	request
}

func (s *starts) isRefreshing(name string) bool {
	return slices.ContainsFunc(s.refreshing, func(l *refresh) bool { return l.name == name })
}

// awaitRefresh lets a request wait until the service files were read anew, or the
// name has come by itself.
func (b *Bus) awaitRefresh(name string, r request) *refusal {
	if limit := b.settings.Limits.MaxPendingServiceStarts; len(b.starts.refreshing) >= limit {
		b.endRequest(&r)
		if _, known := b.service(name); known { // it would have come behind others
			return tooManyStarts(name, limit)
		}
		return unknownService(name)
	}
	l := &refresh{strings.Clone(name), r}
	b.starts.refreshing = append(b.starts.refreshing, l)
	b.opt.Activation.Refresh(func() { b.Post(func() { b.refreshed(l) }) })
	return nil
}

// refreshed goes on with a request when the service files were read, and with
// those before it for the same name, whose answer is known now as well.
func (b *Bus) refreshed(l *refresh) {
	if !slices.Contains(b.starts.refreshing, l) { // the name has come by itself
		return
	}
	var ready []*refresh
	b.starts.refreshing = slices.DeleteFunc(b.starts.refreshing, func(other *refresh) bool {
		isReady := other.name == l.name && !slices.Contains(ready, l)
		if isReady {
			ready = append(ready, other)
		}
		return isReady
	})
	for _, l := range ready {
		b.found(l.name, &l.request)
	}
}

// found goes on with one request.
func (b *Bus) found(name string, r *request) {
	if r.from.state != active {
		b.endRequest(r)
		return
	}
	service, known := b.service(name)
	if known && b.find(name) != nil {
		b.resumeOne(name, r)
		return
	}
	why := unknownService(name)
	if known {
		why = b.restored(r, func() *refusal { return b.mayStart(r.from, &b.handled.msg, service) })
	}
	if why == nil {
		why = b.start(service, *r)
	} else {
		b.endRequest(r)
	}
	if why != nil {
		b.sendError(r.from, r.serial, why.name, why.text)
	}
}

// resumeRefreshing gives the owner of a name the messages for which service files
// are being read: those that are sent from now on must not overtake them.
func (b *Bus) resumeRefreshing(name string) {
	var come []*refresh
	b.starts.refreshing = slices.DeleteFunc(b.starts.refreshing, func(l *refresh) bool {
		comes := l.name == name && l.message != nil && l.from.state == active
		if comes {
			come = append(come, l)
		}
		return comes
	})
	for _, l := range come {
		b.resumeOne(name, &l.request)
	}
}

// add lets one more request wait.
func (b *Bus) add(s *start, r request) {
	s.waiting = append(s.waiting, r)
	s.bytes += len(r.message)
	b.starts.waiting++
}

// endRequest ends the waiting of a request, and what it costs its user.
func (b *Bus) endRequest(r *request) {
	b.unchargeRequest(r)
	b.releaseFDs(r.fds)
}

func (b *Bus) unchargeRequest(r *request) {
	if r.payer == nil {
		return
	}
	d := debt{bytes: len(r.message), payer: r.payer}
	if r.fds != nil {
		d.fds = len(r.fds.fds)
	}
	b.settle(&d)
	r.payer = nil
}

// started notes that a name has come; what waited for it goes on when the
// message that brought it is handled.
func (b *Bus) started(name string) {
	if b.starts.byName[name] != nil || b.starts.isRefreshing(name) {
		b.starts.come = append(b.starts.come, name)
	}
}

// resume goes on with everything that waited for a name. What cannot be
// delivered after all is an error of its sender alone (CVE-2014-3477).
func (b *Bus) resume() {
	if len(b.starts.come) == 0 {
		return
	}
	for len(b.starts.come) > 0 {
		name := b.starts.come[0]
		b.starts.come = b.starts.come[1:]
		if b.find(name) == nil {
			continue
		}
		b.resumeRefreshing(name)
		s := b.starts.byName[name]
		if s == nil {
			continue
		}
		b.endStart(s)
		for i := range s.waiting {
			b.resumeOne(name, &s.waiting[i])
		}
	}
	b.starts.come = nil
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
		b.sending.arena = append(b.sending.arena, r.message...)
		b.give(to, packet{at: len(b.sending.arena) - len(r.message), n: len(r.message)})
		return
	}
	b.unchargeRequest(r) // or it would be charged twice
	if why := b.restored(r, func() *refusal { return b.unicast(r.from, to, &b.handled.msg) }); why != nil {
		b.refuse(r.from, why)
	}
}

// restored makes the message of a request the one that is handled. A request
// without one is not handled.
func (b *Bus) restored(r *request, handle func() *refusal) *refusal {
	if r.message == nil {
		return nil
	}
	if err := b.handled.msg.Parse(r.message[:r.header]); err != nil {
		panic("busd: a message that was accepted is invalid: " + err.Error())
	}
	b.handled.body, b.handled.fds = r.message[r.header:], r.fds
	defer b.handled.clear()
	return handle()
}
