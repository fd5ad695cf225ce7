package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"quartet/kit/telemetry"
	"quartet/kit/timing"
)

func TestSpansArriveAndTheirTimesAddUp(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	tel := start(t, telemetry.Options{})
	const n = 20
	for range n {
		request(t.Context(), tel.Instruments)
	}
	_, metrics := get(t, tel, "/metrics", "application/openmetrics-text; version=1.0.0")
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	requests, traces := 0, map[string]bool{}
	for _, s := range c.spans {
		if s.Kind != tracepb.Span_SPAN_KIND_CONSUMER {
			continue
		}
		requests++
		traces[trace.TraceID(s.TraceId).String()] = true
		v := seconds(s)
		sum := v["queue"] + v["dispatch"] + v["compute"] + v["store"] + v["upstream"] + v["send"]
		if len(v) != 8 || sum != v["total"] || v["own"] != v["total"]-v["upstream"]-v["send"] {
			t.Errorf("times do not add up: %v", v)
		}
		if took := time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano); took != v["total"] {
			t.Errorf("the span is %v long, total is %v", took, v["total"])
		}
	}
	if requests != n || len(c.spans) != 3*n {
		t.Errorf("%d spans of requests among %d", requests, len(c.spans))
	}
	for key, want := range map[string]string{
		"service.name": "botd", "service.version": "1.2.3", "service.namespace": "quartet", "deployment.environment.name": "test",
	} {
		if c.attrs[key] != want {
			t.Errorf("resource %s is %q, want %q", key, c.attrs[key], want)
		}
	}
	if c.attrs["service.instance.id"] == "" {
		t.Error("no service.instance.id")
	}
	if c.posts["/v1/metrics"] == 0 {
		t.Error("metrics were not pushed")
	}
	checkExemplars(t, metrics, traces)
}

// checkExemplars holds each exemplar of the requests' histograms to the traces
// that were exported.
func checkExemplars(t *testing.T, metrics string, traces map[string]bool) {
	t.Helper()
	found := 0
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "quartet_request_") {
			continue
		}
		if _, rest, ok := strings.Cut(line, `trace_id="`); ok {
			found++
			id, _, _ := strings.Cut(rest, `"`)
			if !traces[id] {
				t.Errorf("exemplar of an unknown trace: %s", line)
			}
		}
	}
	if found == 0 {
		t.Errorf("no exemplar in\n%s", metrics)
	}
}

func TestWithoutAnEndpointThereIsNoTracer(t *testing.T) {
	tel := start(t, telemetry.Options{})
	ctx := t.Context()
	allocs := testing.AllocsPerRun(100, func() { tel.TracerProvider.Tracer("x") })
	var r timing.Record
	op := tel.Instruments.Operation("cat")
	allocs += testing.AllocsPerRun(100, func() {
		r.Start(time.Now())
		r.Begin(ctx, op, trace.SpanKindConsumer)
		r.End(timing.OK, nil)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestADisabledSDKLeavesTheRuntime(t *testing.T) {
	t.Setenv("OTEL_SDK_DISABLED", "true")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	tel := start(t, telemetry.Options{})
	request(t.Context(), tel.Instruments)
	_, metrics := get(t, tel, "/metrics", "")
	if strings.Contains(metrics, "quartet_") || !strings.Contains(metrics, `go_goroutines{service_name="botd"}`) {
		t.Errorf("got\n%s", metrics)
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheSamplerIsTheEnvironments(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	tel := start(t, telemetry.Options{})
	request(t.Context(), tel.Instruments)
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.posts) != 0 {
		t.Errorf("posted %v", c.posts)
	}
}

// TestACollectorThatIsAwayHurtsNobody fills the span queue several times over
// while no export can succeed: once with nobody listening, once with somebody
// who takes the connection and never answers.
func TestACollectorThatIsAwayHurtsNobody(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "5")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "200")
	for name, address := range map[string]string{"gone": "127.0.0.1:1", "silent": silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://"+address+"/v1/traces")
			var log logged
			tel := start(t, telemetry.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			for range 5000 {
				request(t.Context(), tel.Instruments)
			}
			eventually(t, "the failures are counted", func() bool {
				_, metrics := get(t, tel, "/metrics", "")
				return strings.Contains(metrics, "\nquartet_telemetry_errors_total{") &&
					!strings.Contains(metrics, "\nquartet_telemetry_errors_total{service_name=\"botd\"} 0\n")
			})
			_, metrics := get(t, tel, "/metrics", "")
			if !strings.Contains(metrics, `quartet_request_duration_seconds_count{operation="cat",outcome="ok",service_name="botd"} 5000`) {
				t.Error("requests are missing")
			}
			if lines := strings.Count(log.String(), "telemetry failed"); lines != 1 {
				t.Errorf("%d lines:\n%s", lines, log.String())
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			began := time.Now()
			_ = tel.Shutdown(ctx) // whether there was something left to lose is chance
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("shutting down took %v", took)
			}
		})
	}
}

// logged is a log to read while it is written.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// eventually polls until ok, or fails after half a minute.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestAnEnvironmentThatCannotWorkIsRefused(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		want string
	}{
		{"no URL", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318"},
		{"no URL, with a password", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "me:5ecre7@collector:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT: not"},
		{"gRPC", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		{"an unknown exporter", map[string]string{"OTEL_METRICS_EXPORTER": "statsd"}, "OTEL_METRICS_EXPORTER=statsd"},
		{"another exporter", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318", "OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER=zipkin"},
		{"a queue for less than nothing", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, "OTEL_BSP_MAX_QUEUE_SIZE=-1"},
		{"a queue for nothing", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_QUEUE_SIZE": "0"}, "OTEL_BSP_MAX_QUEUE_SIZE=0"},
		{"a queue that no memory holds", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_QUEUE_SIZE": "999999999999999999"}, "OTEL_BSP_MAX_QUEUE_SIZE=9"},
		{"a pause without end", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_SCHEDULE_DELAY": "9223372036854775807"}, "OTEL_BSP_SCHEDULE_DELAY=9"},
		{"batches of less than nothing", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "-1"}, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=-1"},
		{"batches without a pause", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_SCHEDULE_DELAY": "0"}, "OTEL_BSP_SCHEDULE_DELAY=0"},
		{"a pause with a unit", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_SCHEDULE_DELAY": "5s"}, "OTEL_BSP_SCHEDULE_DELAY=5s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "botd"})
			if tel != nil || !errors.Is(err, telemetry.ErrEnvironment) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What a header holds is a token, most of the time: it stands in no log.
func TestHeadersThatCannotWorkAreRefusedUnshown(t *testing.T) {
	for _, headers := range []string{
		"Authorization: Bearer 5ecre7", "Authorization: Bearer 5ecre7==", "x-scope=1,5ecre7", "key=5ecre7%", "=5ecre7",
	} {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"} {
			t.Run(name+"="+headers, func(t *testing.T) {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
				t.Setenv("OTEL_TRACES_EXPORTER", "none")
				t.Setenv(name, headers)
				var log logged
				tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "botd", Log: slog.New(slog.NewTextHandler(&log, nil))})
				if tel != nil || err == nil || !strings.Contains(err.Error(), name+": ") {
					t.Errorf("got %v", err)
				}
				if said := log.String() + fmt.Sprint(err); strings.Contains(said, "5ecre7") {
					t.Errorf("it says %s", said)
				}
			})
		}
	}
}

func TestHeadersMayBeEscapedAndSpaced(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc==, x-scope-orgid = 1,")
	if err := start(t, telemetry.Options{}).Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOTLPByNameNeedsNoEndpoint(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	tel := start(t, telemetry.Options{})
	if _, span := tel.TracerProvider.Tracer("x").Start(t.Context(), "x"); !span.IsRecording() || !tel.Traces {
		t.Error("no tracer")
	}
}

func TestWhereNothingIsExportedThereAreNoTraces(t *testing.T) {
	for _, env := range [][2]string{{"OTEL_TRACES_EXPORTER", "none"}, {"OTEL_SDK_DISABLED", "true"}, {"OTEL_EXPORTER_OTLP_ENDPOINT", ""}} {
		t.Run(env[0], func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv("OTEL_METRICS_EXPORTER", "none")
			t.Setenv(env[0], env[1])
			tel := start(t, telemetry.Options{})
			if _, span := tel.TracerProvider.Tracer("x").Start(t.Context(), "x"); span.IsRecording() || tel.Traces {
				t.Error("there are")
			}
		})
	}
}

func TestNoneTurnsASignalOff(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	tel := start(t, telemetry.Options{})
	request(t.Context(), tel.Instruments)
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.posts["/v1/traces"] != 1 || c.posts["/v1/metrics"] != 0 {
		t.Errorf("posted %v", c.posts)
	}
}

func TestMetricsThatNobodyTakesDoNotCostTheSpans(t *testing.T) {
	c := collect(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://"+silent.Addr().String()+"/v1/metrics")
	tel := start(t, telemetry.Options{})
	request(t.Context(), tel.Instruments)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	down := make(chan error, 1)
	go func() { down <- tel.Shutdown(ctx) }()
	eventually(t, "the spans arrive", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.spans) == 3
	})
	cancel()
	if err := <-down; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestASecondShutdownSaysTheSame(t *testing.T) {
	tel := start(t, telemetry.Options{})
	first := tel.Shutdown(t.Context())
	if again := tel.Shutdown(t.Context()); !errors.Is(again, first) {
		t.Errorf("first %v, again %v", first, again)
	}
}

func TestALogLineNamesTheService(t *testing.T) {
	var buf bytes.Buffer
	log := telemetry.Logger(&buf, slog.LevelInfo, "botd", "1.2.3")
	log.Debug("quiet")
	log.Info("started")
	line := buf.String()
	if strings.Count(line, "\n") != 1 || !strings.Contains(line, `"msg":"started","service":"botd","version":"1.2.3"}`) {
		t.Errorf("got %s", line)
	}
}
