package telemetry

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// exports is what the environment asks for.
type exports struct {
	disabled        bool // the whole SDK
	traces, metrics bool // over OTLP
}

// readExports decides what to export. It refuses what would otherwise silently
// go nowhere: endpoints that are no URLs, and ways that are not built in.
func readExports(getenv func(string) string) (exports, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return exports{disabled: true}, nil
	}
	var e exports
	var err error
	if e.traces, err = exported(getenv, "TRACES", "otlp"); err != nil {
		return exports{}, err
	}
	e.metrics, err = exported(getenv, "METRICS", "otlp", "prometheus")
	return e, err
}

// exported reports whether a signal goes out over OTLP.
func exported(getenv func(string) string, signal string, known ...string) (bool, error) {
	name := "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"
	endpoint := getenv(name)
	if endpoint == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		endpoint = getenv(name)
	}
	chosen := getenv("OTEL_" + signal + "_EXPORTER")
	if chosen == "" && endpoint == "" {
		return false, nil
	}
	if chosen != "" {
		exporters := strings.Split(chosen, ",")
		for _, exporter := range exporters {
			if exporter != "none" && !slices.Contains(known, exporter) {
				return false, fmt.Errorf("OTEL_%s_EXPORTER=%s: there is no exporter %q here, only %s and none", signal, chosen, exporter, strings.Join(known, ", "))
			}
		}
		if !slices.Contains(exporters, "otlp") {
			return false, nil
		}
	}
	if u, err := url.Parse(endpoint); endpoint != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
		return false, fmt.Errorf("%s=%s: not an http or https URL", name, endpoint)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := getenv(name); protocol {
		case "":
			continue
		case "http/protobuf":
			return true, nil
		default:
			return false, fmt.Errorf("%s=%s: only http/protobuf is built in", name, protocol)
		}
	}
	return true, nil
}
