package telemetry_test

import (
	"context"
	"strings"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"quartet/kit/telemetry"
)

// counted is what a service has counted without an instrument.
type counted struct{}

func (counted) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	return []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{
		Name: "quartet.test.batch", Unit: "s", Data: metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{
			{Count: 3, Sum: 2, Bounds: []float64{0.1}, BucketCounts: []uint64{2, 1}},
		}},
	}}}}, nil
}

func TestWhatAServiceCountedItselfIsScrapedUnderItsName(t *testing.T) {
	tel := start(t, telemetry.Options{Producers: []sdkmetric.Producer{counted{}}})
	_, text := get(t, tel, "/metrics", "")
	for _, want := range []string{"# TYPE quartet_test_batch_seconds histogram", `quartet_test_batch_seconds_bucket{service_name="`, `le="0.1"} 2`, "quartet_test_batch_seconds_sum{"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
