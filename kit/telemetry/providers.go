package telemetry

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// namespace is the service.namespace of all our services.
const namespace = "quartet"

// startProviders fills in the providers, and the registry with their metrics and
// those of the Go runtime and the process.
func (t *Telemetry) startProviders(ctx context.Context, o Options, chosen exports, registry *prometheus.Registry) error {
	t.MeterProvider, t.TracerProvider = metricnoop.NewMeterProvider(), tracenoop.NewTracerProvider()
	res, err := describe(ctx, o)
	if err != nil {
		return err
	}
	if err := registerRuntime(registry, res); err != nil {
		return err
	}
	if chosen.disabled {
		return nil
	}
	return errors.Join(t.startMetrics(ctx, res, chosen.metrics, registry, o.Producers), t.startTraces(ctx, res, chosen.traces))
}

// describe is who we are. The environment may add to it and override it.
func describe(ctx context.Context, o Options) (*resource.Resource, error) {
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithService(), // service.instance.id
		resource.WithAttributes(
			semconv.ServiceNamespace(namespace),
			semconv.ServiceName(o.Service),
			semconv.ServiceVersion(o.Version),
		),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("describe the service: %w", err)
	}
	return res, nil
}

// registerRuntime adds what Go and the kernel know about the process, under the
// same service_name as all other metrics.
func registerRuntime(registry *prometheus.Registry, res *resource.Resource) error {
	name, _ := res.Set().Value(semconv.ServiceNameKey)
	labelled := prometheus.WrapRegistererWith(prometheus.Labels{"service_name": name.AsString()}, registry)
	if err := errors.Join(
		labelled.Register(collectors.NewGoCollector()),
		labelled.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	); err != nil {
		return fmt.Errorf("register collectors: %w", err)
	}
	return nil
}

// startMetrics sets the registry up as a reader, and OTLP as another if asked;
// both hear the producers too.
func (t *Telemetry) startMetrics(ctx context.Context, res *resource.Resource, otlp bool, registry *prometheus.Registry, producers []sdkmetric.Producer) error {
	// The strategy is the exporter's default today; its authors announce that
	// the default may change, and v0.59 shipped wrong suffixes.
	scrape := []otelprom.Option{
		otelprom.WithRegisterer(registry),
		otelprom.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes),
		otelprom.WithoutScopeInfo(),
		otelprom.WithResourceAsConstantLabels(attribute.NewAllowKeysFilter(semconv.ServiceNameKey)),
	}
	var pushed []sdkmetric.PeriodicReaderOption
	for _, p := range producers {
		scrape, pushed = append(scrape, otelprom.WithProducer(p)), append(pushed, sdkmetric.WithProducer(p))
	}
	exporter, err := otelprom.New(scrape...)
	if err != nil {
		return fmt.Errorf("make the Prometheus exporter: %w", err)
	}
	options := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithReader(exporter)}
	if otlp {
		push, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return fmt.Errorf("make the OTLP exporter of metrics: %w", err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(push, pushed...)))
	}
	provider := sdkmetric.NewMeterProvider(options...)
	t.MeterProvider, t.flush = provider, append(t.flush, provider.Shutdown)
	return nil
}

// startTraces makes a tracer if its spans have somewhere to go.
func (t *Telemetry) startTraces(ctx context.Context, res *resource.Resource, otlp bool) error {
	if !otlp {
		return nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("make the OTLP exporter of traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter))
	t.TracerProvider, t.Traces, t.flush = provider, true, append(t.flush, provider.Shutdown)
	return nil
}
