package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"quartet/sim/internal/latency"
	"quartet/sim/internal/quirk"
	"quartet/sim/internal/weatherbus"
)

// The roles.
const (
	station   = "station"
	listeners = "listeners"
)

type options struct {
	listen string
	remote bool
	play   weatherbus.Options
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var roles, quirks, latencies string
	f := flag.NewFlagSet("simbus", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8082", "`address` of the control surface; port 0 picks one")
	f.BoolVar(&o.remote, "allow-remote", false, "permit addresses that other machines can reach")
	f.StringVar(&o.play.Bus, "bus", "", "`address` of the bus, as unix:path=/run/bus")
	f.StringVar(&roles, "roles", station+","+listeners, "`list` of who plays")
	f.IntVar(&o.play.Listeners, "listeners", 4, "`number` of listeners, each with a connection of its own")
	f.DurationVar(&o.play.Every, "every", 250*time.Millisecond, "`time` between two signals; a listener calls in ten times that")
	f.StringVar(&quirks, "quirks", "", "`list` of quirks, name,name=value; GET /_sim/quirks?describe=1 explains them")
	f.StringVar(&latencies, "latency", "", "`list` of latencies, operation=MEDIAN or operation=MEDIAN~JITTER, of "+weatherbus.Forecast+"; default 0")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	who := strings.Split(roles, ",")
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.play.Bus == "":
		return o, errors.New("-bus: say which bus, as unix:path=/run/bus")
	case slices.ContainsFunc(who, func(r string) bool { return r != station && r != listeners }):
		return o, fmt.Errorf("-roles: there are %s and %s", station, listeners)
	case o.play.Listeners < 1 || o.play.Listeners > 1000:
		return o, errors.New("-listeners: want 1 to 1000")
	case o.play.Every < time.Millisecond || o.play.Every > time.Hour:
		return o, errors.New("-every: want 1ms to 1h")
	}
	o.play.Station = slices.Contains(who, station)
	if !slices.Contains(who, listeners) {
		o.play.Listeners = 0
	}
	o.play.Quirks = quirk.New(weatherbus.Quirks()...)
	o.play.Latency = latency.NewTable(1, weatherbus.Forecast)
	if err := o.play.Quirks.ParseList(quirks); err != nil {
		return o, fmt.Errorf("-quirks: %w", err)
	}
	if err := o.play.Latency.ParseList(latencies); err != nil {
		return o, fmt.Errorf("-latency: %w", err)
	}
	o.play.Quirks.Freeze()
	o.play.Latency.Freeze()
	return o, nil
}
