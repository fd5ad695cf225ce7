// Command busd-telemetry is busd with a view into it: an admin server with
// metrics, and OpenTelemetry export. Nobody starts it: busd becomes it where
// BUSD_ADMIN_ADDR or OTEL_EXPORTER_OTLP_ENDPOINT is set, so that a bus without
// them has none of this code in memory.
package main

import (
	"os"

	"quartet/services/busd/internal/daemon"
)

func main() {
	if code, is := daemon.Helper(); is {
		os.Exit(code)
	}
	os.Exit(daemon.Main(daemon.Parts{
		Program: daemon.ProgramName(),
		Version: daemon.Version(),
		Stderr:  os.Stderr,
		Observe: observe,
	}, os.Args[1:], os.Stdout))
}
