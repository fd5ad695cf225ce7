package daemon

import (
	"testing"

	"quartet/services/busd/internal/config"
)

func TestWhoWantsToSeeTheBusIsInTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318", true},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:4318/v1/metrics", true},
		{"OTEL_TRACES_EXPORTER", "otlp", true},
		{"OTEL_METRICS_EXPORTER", "prometheus,otlp", true},
		{"OTEL_METRICS_EXPORTER", "prometheus", false}, // that is BUSD_ADMIN_ADDR
		{"OTEL_TRACES_EXPORTER", "none", false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "", false},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			if got := observed(config.Config{}); got != c.want {
				t.Errorf("observed: %v, want %v", got, c.want)
			}
		})
	}
	if !observed(config.Config{AdminAddr: "127.0.0.1:0"}) {
		t.Error("an address to be asked at wants to see nothing")
	}
}
