package weatherbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"

	"quartet/sim/internal/latency"
	"quartet/sim/internal/quirk"
)

// Forecast is the operation that takes time, as named in the latency table.
const Forecast = "forecast"

// again is how long to wait before a bus that is not there is tried again.
const again = 500 * time.Millisecond

// Quirks returns the switches.
func Quirks() []quirk.Def {
	return []quirk.Def{
		{Name: "call_hang", Kind: quirk.Count, Doc: "The next N calls of the station are never answered."},
		{Name: "call_fail", Kind: quirk.Count, Doc: "The next N calls of the station are answered with an error."},
		{Name: "stall", Kind: quirk.Count, Doc: "N strangers come who have themselves sent a megabyte and do not read it, until the bus ends them or stall_for is over."},
		{Name: "stall_for", Kind: quirk.Duration, Default: time.Minute, Doc: "How long such a stranger stays."},
		{Name: "nonsense", Kind: quirk.Count, Doc: "N strangers come who send what is no message."},
		{Name: "unknown", Kind: quirk.Count, Doc: "N calls go to a name that nobody has."},
	}
}

// Options say who plays, and how.
type Options struct {
	Bus       string // address
	Station   bool
	Listeners int
	Every     time.Duration // between two signals, and ten times that between two calls of a listener
	Quirks    *quirk.Set
	Latency   *latency.Table
	Log       *slog.Logger
}

// Play is everybody on the bus. Make it with New.
type Play struct {
	o         Options
	parts     []part
	counts    counts
	connected atomic.Int64
	burst     chan int
}

// A part plays on its connection until that ends, or ctx does.
type part struct {
	name string
	play func(ctx context.Context, c *dbus.Conn) error
}

// New makes a play; Run begins it.
func New(o Options) *Play {
	p := &Play{o: o, burst: make(chan int, 1)}
	if o.Station {
		p.parts = append(p.parts, part{"station", p.station})
	}
	for n := range o.Listeners {
		p.parts = append(p.parts, part{fmt.Sprint("listener ", n), func(ctx context.Context, c *dbus.Conn) error { return p.listen(ctx, c, n) }})
	}
	return p
}

// Run plays until ctx ends.
func (p *Play) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, each := range p.parts {
		wg.Go(func() { p.keep(ctx, each) })
	}
	wg.Go(func() { p.strangers(ctx) })
	wg.Wait()
	return nil
}

// ErrBusy is the answer to a burst while one is under way.
var ErrBusy = errors.New("a burst is under way")

// Burst has the station publish n signals as fast as the bus takes them.
func (p *Play) Burst(n int) error {
	select {
	case p.burst <- n:
		return nil
	default:
		return ErrBusy
	}
}

// Connected says whether all parts are on the bus.
func (p *Play) Connected() bool { return p.connected.Load() == int64(len(p.parts)) }

// keep plays a part, again and again when the bus goes.
func (p *Play) keep(ctx context.Context, each part) {
	told := false
	for ctx.Err() == nil {
		err := p.once(ctx, each)
		if ctx.Err() != nil {
			return
		}
		if !told { // of a bus that stays away once is enough
			p.o.Log.Warn("no bus", slog.String("part", each.name), slog.Any("err", err))
		}
		told = true
		_ = latency.Sleep(ctx, again)
	}
}

func (p *Play) once(ctx context.Context, each part) error {
	c, err := dbus.Connect(p.o.Bus, dbus.WithSignalHandler(dbus.NewSequentialSignalHandler()))
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	p.counts.connects.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.Context(), cancel)()
	err = each.play(ctx, c)
	if err == nil {
		err = errors.New("the bus hung up")
	}
	return err
}

// present counts a part that is ready, until the returned function is called.
func (p *Play) present() (leave func()) {
	p.connected.Add(1)
	return func() { p.connected.Add(-1) }
}
