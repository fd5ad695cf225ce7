package weatherbus

import (
	"context"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"
	"github.com/godbus/dbus/v5/prop"
)

// perChange is how many signals go out for one change of a property.
const perChange = 4

// station has the name, publishes measurements and answers calls.
func (p *Play) station(ctx context.Context, c *dbus.Conn) error {
	if err := c.ExportMethodTable(map[string]any{"Forecast": p.answer(ctx)}, Path, Interface); err != nil {
		return err
	}
	props, err := prop.Export(c, Path, prop.Map{Interface: {
		"Temperature": {Value: 0.0, Emit: prop.EmitTrue},
		"Places":      {Value: places[:], Emit: prop.EmitConst},
	}})
	if err != nil {
		return err
	}
	if err := c.Export(introspect.NewIntrospectable(description(props)), Path, "org.freedesktop.DBus.Introspectable"); err != nil {
		return err
	}
	reply, err := c.RequestName(Name, dbus.NameFlagDoNotQueue)
	if err != nil {
		return err
	}
	if reply != dbus.RequestNameReplyPrimaryOwner {
		return fmt.Errorf("somebody else has the name %s", Name)
	}
	defer p.present()()
	return p.publish(ctx, c, props)
}

// publish goes on until ctx ends.
func (p *Play) publish(ctx context.Context, c *dbus.Conn, props *prop.Properties) error {
	tick := time.NewTicker(p.o.Every)
	defer tick.Stop()
	for n := uint64(0); ; {
		count := 1
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case count = <-p.burst:
		}
		for range count {
			place, values, at := measurement(n)
			if err := c.Emit(Path, Interface+".Measured", place, values, at); err != nil {
				return err
			}
			p.counts.published.Add(1)
			n++
		}
		if n%perChange == 0 || count > 1 {
			props.SetMust(Interface, "Temperature", temperature(n))
			p.counts.changed.Add(1)
		}
	}
}

// answer is the method Forecast.
func (p *Play) answer(ctx context.Context) func(place string) (map[string]dbus.Variant, *dbus.Error) {
	return func(place string) (map[string]dbus.Variant, *dbus.Error) {
		began := time.Now()
		if p.o.Quirks.Take("call_hang") {
			<-ctx.Done()
		}
		if err := p.o.Latency.Wait(ctx, Forecast, began); err != nil {
			return nil, dbus.MakeFailedError(err)
		}
		if p.o.Quirks.Take("call_fail") {
			return nil, dbus.NewError(Interface+".Error.NoInstrument", []any{"The instrument of " + place + " is broken"})
		}
		p.counts.answered.Add(1)
		return forecast(place), nil
	}
}

func description(props *prop.Properties) *introspect.Node {
	return &introspect.Node{Name: string(Path), Interfaces: []introspect.Interface{
		introspect.IntrospectData, prop.IntrospectData,
		{
			Name:       Interface,
			Methods:    []introspect.Method{{Name: "Forecast", Args: []introspect.Arg{{Name: "place", Type: "s", Direction: "in"}, {Name: "forecast", Type: "a{sv}", Direction: "out"}}}},
			Signals:    []introspect.Signal{{Name: "Measured", Args: []introspect.Arg{{Name: "place", Type: "s"}, {Name: "values", Type: "a{sv}"}, {Name: "number", Type: "t"}}}},
			Properties: props.Introspection(Interface),
		},
	}}
}
