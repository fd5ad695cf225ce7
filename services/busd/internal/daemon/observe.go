package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/config"
)

// Observed is what an Observe may look at.
type Observed struct {
	Config  config.Config
	Version string
	Log     *slog.Logger
	// Alive says whether the bus works. Stats is what it has counted.
	Alive func(context.Context) error
	Stats func(context.Context) (bus.Stats, error)
}

// Observe shows others what a bus does. It is called before the bus gives up
// its rights, and before it runs.
type Observe func(context.Context, Observed) (*Observer, error)

// Observer is what an Observe wants of the bus.
type Observer struct {
	Timing  bool
	Sample  uint64
	OnBatch func(bus.Batch)
	// Serve works until ctx ends; Close is called after it.
	Serve func(ctx context.Context)
	Close func()
}

// telemetryProgram is the program that can show others what the bus does. It
// is one of its own because what is linked for that is three times the whole
// bus, takes tens of milliseconds at each start, and has a web server in it.
const telemetryProgram = "busd-telemetry"

// observed says whether others want to see what the bus does.
func observed(c config.Config) bool {
	if c.AdminAddr != "" {
		return true
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"} {
		if strings.Contains(os.Getenv(name), "otlp") { // to the usual endpoint
			return true
		}
	}
	return false
}

// becomeTelemetry makes this process the program that can observe; it returns
// only if that fails. Whoever started us does not see a difference.
func becomeTelemetry(args []string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	program := filepath.Join(filepath.Dir(own), telemetryProgram)
	err = syscall.Exec(program, append([]string{os.Args[0]}, args...), os.Environ())
	return fmt.Errorf("BUSD_ADMIN_ADDR or an exporter of OpenTelemetry is set, which needs the program %s beside this one: %w", program, err)
}

func (d *daemon) observe(ctx context.Context) (*Observer, error) {
	if d.Observe == nil {
		return &Observer{Serve: func(context.Context) {}, Close: func() {}}, nil
	}
	return d.Observe(ctx, Observed{
		Config:  d.config,
		Version: d.Version,
		Log:     d.log.Logger,
		Alive:   d.alive,
		Stats:   d.stats,
	})
}

// alive says whether the bus thread comes around.
func (d *daemon) alive(ctx context.Context) error { return d.ask(ctx, func(*bus.Bus) {}) }

// stats is what the bus has counted, also once it has ended: the last export
// comes then.
func (d *daemon) stats(ctx context.Context) (bus.Stats, error) {
	if last := d.last.Load(); last != nil {
		return *last, nil
	}
	var s bus.Stats
	if err := d.ask(ctx, func(b *bus.Bus) { s = b.Stats() }); err != nil {
		return bus.Stats{}, err // not s: it may be written later
	}
	return s, nil
}

// ask has the bus thread call f, and waits for that as long as ctx lasts.
func (d *daemon) ask(ctx context.Context, f func(*bus.Bus)) error {
	b := d.bus.Load()
	done := make(chan struct{})
	if b == nil || !b.Post(func() { f(b); close(done) }) {
		return errStopped
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the bus thread does not answer: %w", context.Cause(ctx))
	}
}
