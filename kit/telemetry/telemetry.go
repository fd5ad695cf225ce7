// Package telemetry sets up what the instruments of kit/timing record into: the
// OpenTelemetry SDK, a Prometheus registry of its own, OTLP/HTTP export when the
// standard variables ask for it, and the admin server that shows all that. Only
// main packages import it.
//
// Whatever the collector does, requests go on: spans wait in a bounded queue and
// are dropped when it is full, exports run on goroutines of their own, and each
// failure is counted in quartet_telemetry_errors_total and logged, not often.
//
// Read from the process's environment, as OpenTelemetry specifies them:
//
//   - OTEL_EXPORTER_OTLP_ENDPOINT, or its _TRACES_ and _METRICS_ forms, turn the
//     export on. Without them there is no tracer, and recording does not allocate.
//   - OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER: "otlp" turns one on without an
//     endpoint (the SDK's is localhost:4318), "none" turns one off again.
//   - OTEL_SDK_DISABLED: no spans, no metrics but those of the Go runtime.
//   - OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME,
//     OTEL_BSP_*, OTEL_METRIC_EXPORT_*, OTEL_EXPORTER_OTLP_*: by the SDK.
//
// The SDK reports its own failures to one handler a process and nowhere else:
// that handler, and its logger, are the only globals that Start sets. The last
// Start wins.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"quartet/kit/timing"
)

// flushTimeout bounds a Shutdown whose context has no deadline.
const flushTimeout = 5 * time.Second

// ErrEnvironment is among what Start returns for a value in the environment that
// cannot work: no new start mends that.
var ErrEnvironment = errors.New("wrong environment")

// Options say what a service shows of itself.
type Options struct {
	// Service and Version name the program, in every metric and span.
	Service, Version string

	// AdminAddr is where the admin server listens, "host:port"; port 0 takes a
	// free one, and "" means no admin server. It tells everything to whoever can
	// reach it and asks for no password: a service puts it on loopback unless
	// its operator says otherwise.
	AdminAddr string

	// Pprof serves /debug/pprof/ there, which costs whoever asks nothing and us
	// processor time.
	Pprof bool

	// Log gets the failures of telemetry itself. nil discards them.
	Log *slog.Logger

	// Ready says whether the service can work, by a nil error, or else why not.
	// It is asked at GET /readyz, once for all who ask at the same time, and
	// should heed its context, which ends after two seconds; after three, a
	// service that does not answer is not ready. nil means always ready.
	Ready func(ctx context.Context) error

	// Producers bring metrics that a service has counted by itself, where a
	// histogram of the SDK would cost it more than what it measures.
	Producers []sdkmetric.Producer

	// Routes, if set, adds a service's own endpoints to the admin server.
	Routes func(mux *http.ServeMux)
}

// Telemetry is what Start set up.
type Telemetry struct {
	Instruments    *timing.Instruments
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider // a no-op one unless traces are exported
	Traces         bool                 // whether they are

	server   *http.Server
	listener net.Listener // nil without an admin server
	ready    readiness

	flush    []func(context.Context) error
	stopping sync.Once
	stopped  error // what the first Shutdown returned
}

// Start sets everything up and listens on the admin address; Serve then answers.
// It connects to nobody: a collector that is not there yet is no error. A value
// in the environment that cannot work is, ErrEnvironment.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Telemetry{ready: readiness{check: o.Ready}}
	if err := t.start(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("start telemetry: %w", err), t.Shutdown(ctx))
	}
	return t, nil
}

func (t *Telemetry) start(ctx context.Context, o Options) error {
	chosen, err := readExports(os.Getenv)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	failed := &failures{log: o.Log}
	otel.SetErrorHandler(failed)
	otel.SetLogger(logr.FromSlogHandler(o.Log.Handler()))

	registry := prometheus.NewRegistry()
	if err := t.startProviders(ctx, o, chosen, registry); err != nil {
		return err
	}
	if t.Instruments, err = timing.New(t.MeterProvider, t.TracerProvider); err != nil {
		return err
	}
	t.Instruments.ObserveTelemetryErrors(failed.count.Load)
	return t.listen(ctx, o, registry)
}

// Shutdown exports what is left and stops everything, the admin server too. It
// takes no longer than ctx, or five seconds if ctx has no deadline. The error
// says what could not be finished in that time; a last export that fails at once
// is counted and logged like any other. A second Shutdown returns what the first
// did.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	t.stopping.Do(func() {
		if _, bounded := ctx.Deadline(); !bounded {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, flushTimeout)
			defer cancel()
		}
		var errs []error
		if t.listener != nil {
			errs = append(errs, t.server.Close(), closed(t.listener.Close()))
		}
		// Side by side: metrics that nobody takes must not cost the spans.
		flushed := make([]error, len(t.flush))
		var all sync.WaitGroup
		for i, flush := range t.flush {
			all.Go(func() { flushed[i] = flush(ctx) })
		}
		all.Wait()
		if err := errors.Join(append(errs, flushed...)...); err != nil {
			t.stopped = fmt.Errorf("shut telemetry down: %w", err)
		}
	})
	return t.stopped
}

// closed forgives closing what is closed already.
func closed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
