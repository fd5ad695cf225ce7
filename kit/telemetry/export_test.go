package telemetry

import (
	"context"
	"log/slog"
)

// AskReady returns what one /readyz after the other asks.
func AskReady(check func(context.Context) error) func(context.Context) error {
	r := &readiness{check: check}
	return r.ask
}

// NewFailures is the error handler that Start sets.
func NewFailures(log *slog.Logger) *failures { return &failures{log: log} }
