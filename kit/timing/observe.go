package timing

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/metric"
)

// The kit's other parts know nothing of telemetry. What they count themselves
// is read from their Stats at each collection; what only they can measure comes
// through their hooks. A part that is observed stays so for the life of the
// process, and two of one kind need different names.

// observed lists the sources of one kind of statistics.
type observed[S any] struct {
	mu      sync.Mutex
	sources []func() S
}

func (o *observed[S]) add(source func() S) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sources = append(o.sources, source)
}

// each reads every source and hands on what it said, without holding the lock.
func (o *observed[S]) each(use func(S)) {
	o.mu.Lock()
	sources := o.sources // only ever appended to
	o.mu.Unlock()
	for _, source := range sources {
		use(source())
	}
}

// ObserveTelemetryErrors shows how many times telemetry itself failed so far:
// an export that did not arrive, a series that could not be collected.
func (in *Instruments) ObserveTelemetryErrors(count func() int64) { in.telemetryErrors.add(count) }

func (in *Instruments) buildTelemetry(b *builder) {
	failures := b.counter(nameTelemetryErrors, "{error}", "Failures of telemetry itself, exports that did not arrive among them.")
	b.observe(func(o metric.Observer) {
		in.telemetryErrors.each(func(n int64) { o.ObserveInt64(failures, n) })
	}, failures)
}

// counter makes an instrument for a count that a part keeps.
func (b *builder) counter(name, unit, description string) metric.Int64ObservableCounter {
	c, err := b.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.errs = append(b.errs, err)
	return c
}

// level makes an instrument for an amount that a part holds now. Levels of
// several parts, or processes, add up.
func (b *builder) level(name, unit, description string) metric.Int64ObservableUpDownCounter {
	l, err := b.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.errs = append(b.errs, err)
	return l
}

// observe has the instruments filled in at each collection.
func (b *builder) observe(fill func(metric.Observer), instruments ...metric.Observable) {
	_, err := b.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		fill(o)
		return nil
	}, instruments...)
	b.errs = append(b.errs, err)
}
