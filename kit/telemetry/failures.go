package telemetry

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// logInterval is the least time between two log lines about failures.
const logInterval = time.Minute

// failures is the SDK's error handler: it counts what telemetry could not do and
// logs it, the first at once and then one a minute, so that a collector that is
// away does not fill the log.
type failures struct {
	log   *slog.Logger
	count atomic.Int64

	mu     sync.Mutex
	logged time.Time // when the last line was written
	silent int       // failures since
}

// Handle implements otel.ErrorHandler.
func (f *failures) Handle(err error) {
	f.count.Add(1)
	if silent, due := f.due(); due {
		f.log.Warn("telemetry failed", slog.Any("err", err), slog.Int("silent", silent))
	}
}

// due reports whether to log now, and how many failures went unlogged before.
func (f *failures) due() (silent int, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if !f.logged.IsZero() && now.Sub(f.logged) < logInterval {
		f.silent++
		return 0, false
	}
	silent, f.silent, f.logged = f.silent, 0, now
	return silent, true
}
