package telemetry

import "context"

// AskReady returns what one /readyz after the other asks.
func AskReady(check func(context.Context) error) func(context.Context) error {
	r := &readiness{check: check}
	return r.ask
}
