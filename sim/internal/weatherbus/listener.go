package weatherbus

import (
	"context"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	callTimeout   = 5 * time.Second
	signalsAtOnce = 256 // that wait within a listener
)

// rules are what listeners subscribe to, one after the other, beside the
// changes of the station's owner.
var rules = [][]dbus.MatchOption{
	{dbus.WithMatchSender(Name), dbus.WithMatchInterface(Interface), dbus.WithMatchMember("Measured")},
	{dbus.WithMatchInterface(Interface), dbus.WithMatchArg(0, places[0])},
	{dbus.WithMatchPathNamespace("/org/quartet"), dbus.WithMatchInterface("org.freedesktop.DBus.Properties")},
	{dbus.WithMatchSender(Name)},
}

// listen hears what its rule lets through, and calls the station now and then.
func (p *Play) listen(ctx context.Context, c *dbus.Conn, n int) error {
	owner := []dbus.MatchOption{dbus.WithMatchSender("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, Name)}
	for _, rule := range [][]dbus.MatchOption{owner, rules[n%len(rules)]} {
		if err := c.AddMatchSignalContext(ctx, rule...); err != nil {
			return err
		}
	}
	signals := make(chan *dbus.Signal, signalsAtOnce)
	c.Signal(signals)
	defer p.present()()
	tick := time.NewTicker(10 * p.o.Every)
	defer tick.Stop()
	for called := n; ; {
		select {
		case <-ctx.Done():
			return nil
		case s, open := <-signals:
			if !open {
				return nil
			}
			p.hear(s)
		case <-tick.C:
			called++
			p.call(ctx, c, places[called%len(places)])
		}
	}
}

func (p *Play) hear(s *dbus.Signal) {
	switch s.Name {
	case Interface + ".Measured":
		p.counts.received.Add(1)
	case "org.freedesktop.DBus.Properties.PropertiesChanged":
		p.counts.changesSeen.Add(1)
	case "org.freedesktop.DBus.NameOwnerChanged":
		p.counts.ownersSeen.Add(1)
	}
}

// call asks the station, or with the quirk somebody who is not there.
func (p *Play) call(ctx context.Context, c *dbus.Conn, place string) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %v", callTimeout))
	defer cancel()
	to := Name
	if p.o.Quirks.Take("unknown") {
		to = Name + ".Nobody"
	}
	began := time.Now()
	var answer map[string]dbus.Variant
	err := c.Object(to, Path).CallWithContext(ctx, Interface+".Forecast", 0, place).Store(&answer)
	if err != nil {
		p.counts.callsFailed.Add(1)
		return
	}
	p.counts.calls.Add(1)
	p.counts.callMicroseconds.Add(time.Since(began).Microseconds())
}
