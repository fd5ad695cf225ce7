package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"quartet/kit/telemetry"
	"quartet/services/busd/internal/daemon"
)

const (
	flushTimeout = 5 * time.Second // bounds the last export
	statsTimeout = 2 * time.Second // a turn of the bus takes milliseconds
)

// observe starts the admin server and the exports.
func observe(ctx context.Context, o daemon.Observed) (*daemon.Observer, error) {
	tel, err := telemetry.Start(ctx, telemetry.Options{
		Service:   "busd",
		Version:   o.Version,
		AdminAddr: string(o.Config.AdminAddr),
		Pprof:     o.Config.Pprof,
		Log:       o.Log,
		Ready:     o.Alive,
		Producers: []metric.Producer{latency{began: time.Now(), stats: o.Stats}},
	})
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "listen" {
		return nil, fmt.Errorf("BUSD_ADMIN_ADDR: %w", err)
	}
	if err != nil {
		return nil, err
	}
	flush := func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		if err := tel.Shutdown(ctx); err != nil {
			o.Log.LogAttrs(ctx, slog.LevelWarn, "telemetry not flushed", slog.Any("err", err))
		}
	}
	if err := register(tel.MeterProvider, o.Stats); err != nil {
		flush()
		return nil, err
	}
	s := newSpans(tel.TracerProvider)
	observer := &daemon.Observer{Timing: true, Close: flush}
	if tel.Traces {
		observer.Sample, observer.OnBatch = every(o.Config.TraceRatio), s.take
	}
	observer.Serve = func(ctx context.Context) {
		done := make(chan struct{})
		go func() { defer close(done); s.run(ctx) }()
		if err := tel.Serve(ctx); err != nil {
			o.Log.LogAttrs(ctx, slog.LevelError, "admin server ended", slog.Any("err", err))
		}
		<-done
	}
	o.Log.LogAttrs(ctx, slog.LevelInfo, "telemetry started", slog.String("admin", tel.Addr()))
	return observer, nil
}

// every is of how many batches one is traced; 0 is none.
func every(ratio float64) uint64 {
	if ratio <= 0 {
		return 0
	}
	return uint64(1/ratio + 0.5)
}
