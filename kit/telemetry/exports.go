package telemetry

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// exports is what the environment asks for.
type exports struct {
	disabled        bool // the whole SDK
	traces, metrics bool // over OTLP
}

// readExports decides what to export. It refuses what would otherwise silently
// go nowhere: endpoints that are no URLs, ways that are not built in, headers
// that are none; and numbers that the SDK takes as they are and fails at.
func readExports(getenv func(string) string) (exports, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return exports{disabled: true}, nil
	}
	var e exports
	var err error
	if e.traces, err = exported(getenv, "TRACES", "otlp"); err != nil {
		return exports{}, err
	}
	if e.metrics, err = exported(getenv, "METRICS", "otlp", "prometheus"); err != nil {
		return exports{}, err
	}
	if e.traces {
		return e, checkBatches(getenv)
	}
	return e, nil
}

// maxBatches is more spans than anybody can wait for, and a day of milliseconds.
const maxBatches = 100_000_000

// checkBatches refuses a queue of spans that takes none or cannot be made, and
// exports without a pause, which would be all that a processor does: a pause that
// overflows is none either.
func checkBatches(getenv func(string) string) error {
	for _, name := range []string{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_SCHEDULE_DELAY"} {
		value := getenv(name)
		if n, err := strconv.Atoi(value); value != "" && (err != nil || n < 1 || n > maxBatches) {
			return fmt.Errorf("%s=%s: not a whole number within 1 and %d", name, value, maxBatches)
		}
	}
	return nil
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
		if strings.Contains(endpoint, "@") { // a password may stand before it
			return false, fmt.Errorf("%s: not an http or https URL", name)
		}
		return false, fmt.Errorf("%s=%s: not an http or https URL", name, endpoint)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"} {
		if !areHeaders(getenv(name)) {
			return false, fmt.Errorf("%s: not name=value with commas between them, in the values %% and two digits for what is no plain letter", name)
		}
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

// areHeaders reports whether the SDK understands a list of headers. What it does
// not it leaves out, and logs: tokens.
func areHeaders(list string) bool {
	for header := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(header) == "" {
			continue
		}
		name, value, ok := strings.Cut(header, "=")
		name = strings.TrimSpace(name)
		_, err := url.PathUnescape(value)
		if !ok || err != nil || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(headerRunes, r) }) {
			return false
		}
	}
	return true
}

const headerRunes = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
