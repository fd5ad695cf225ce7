package telemetry

import (
	"io"
	"log/slog"
)

// Logger writes JSON lines to w, from level on, each with the service and its
// version.
func Logger(w io.Writer, level slog.Level, service, version string) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})).
		With(slog.String("service", service), slog.String("version", version))
}
