package timing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"quartet/kit/lockmap"
)

// ObserveLock shows the entries and waiters of m, a *lockmap.Map of any key.
func (in *Instruments) ObserveLock(m interface{ Stats() lockmap.Stats }) { in.locks.add(m.Stats) }

// LockWait is the lockmap.Options.OnWait that records the waits for keys of the
// map of that name.
func (in *Instruments) LockWait(name string) func(waited time.Duration) {
	return lockTimes(in.wait.lock, name)
}

// LockHold is the lockmap.Options.OnHold that records how long keys of the map
// of that name were held.
func (in *Instruments) LockHold(name string) func(held time.Duration) {
	return lockTimes(in.wait.hold, name)
}

func lockTimes(h metric.Float64Histogram, name string) func(time.Duration) {
	options := series(keyLock.String(name))
	return func(d time.Duration) { h.Record(context.Background(), d.Seconds(), options...) }
}

func (in *Instruments) buildLocks(b *builder) {
	in.wait.lock = b.seconds(nameLockWait, "Wait for the lock of a key, of those who had to wait.", waitBounds)
	in.wait.hold = b.seconds(nameLockHold, "Time for which the lock of a key was held.", waitBounds)
	entries := b.level(nameLockEntries, "{key}", "Keys that are locked.")
	waiting := b.level(nameLockWaiting, "{request}", "Requests that wait for the lock of a key.")
	rejections := b.counter(nameLockRejections, "{request}", "Requests that found too many waiters before them.")

	b.observe(func(o metric.Observer) {
		in.locks.each(func(s lockmap.Stats) {
			only := metric.WithAttributes(keyLock.String(s.Name))
			o.ObserveInt64(entries, int64(s.Entries), only)
			o.ObserveInt64(waiting, int64(s.Waiting), only)
			o.ObserveInt64(rejections, int64(s.Rejected), only)
		})
	}, entries, waiting, rejections)
}
