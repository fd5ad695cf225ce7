package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"quartet/services/busd/internal/bus"
)

// latency shows how long batches took, under the names that every service's
// requests have. The bus thread counts into histograms of its own, because one
// of the SDK would cost more than a batch does.
type latency struct {
	began time.Time
	stats func(context.Context) (bus.Stats, error)
}

// Produce is called whenever somebody collects metrics.
func (l latency) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	s, err := l.stats(ctx)
	if err != nil {
		return nil, err
	}
	if s.Latency.Total.Count() == 0 {
		return nil, nil
	}
	operation, outcome := attribute.String("operation", "batch"), attribute.String("outcome", "ok")
	now := time.Now()
	phases := make([]metricdata.HistogramDataPoint[float64], len(bus.Phases))
	for i, name := range bus.Phases {
		phases[i] = l.point(now, &s.Latency.Phase[i], operation, attribute.String("phase", name))
	}
	return []metricdata.ScopeMetrics{{
		Scope: instrumentation.Scope{Name: "quartet/services/busd"},
		Metrics: []metricdata.Metrics{
			seconds("quartet.request.duration", "Time from the kernel's word that a client has sent something until its share of it is with the sockets.", l.point(now, &s.Latency.Total, operation, outcome)),
			seconds("quartet.request.own.duration", "Of that, what was not the sending.", l.point(now, &s.Latency.Own, operation, outcome)),
			seconds("quartet.request.phase.duration", "A batch's time by disjoint phases.", phases...),
		},
	}}, nil
}

func seconds(name, text string, points ...metricdata.HistogramDataPoint[float64]) metricdata.Metrics {
	return metricdata.Metrics{Name: name, Description: text, Unit: "s", Data: metricdata.Histogram[float64]{
		Temporality: metricdata.CumulativeTemporality, DataPoints: points,
	}}
}

// budget is the bound that rules and boards of all services ask for.
const budget = 100 * time.Millisecond

// point is a histogram with the bounds of the bus's own, and budget among them.
// What lies between the bound below that and itself counts as beyond it, so the
// share that kept the budget is never shown too high.
func (l latency) point(now time.Time, h *bus.Histogram, labels ...attribute.KeyValue) metricdata.HistogramDataPoint[float64] {
	p := metricdata.HistogramDataPoint[float64]{
		Attributes: attribute.NewSet(labels...), StartTime: l.began, Time: now, Count: h.Count(), Sum: h.Sum.Seconds(),
	}
	last := len(h.Counts) - 1 // has no bound
	for i, n := range h.Counts[:last] {
		bound := bus.HistogramBound(i)
		if i > 0 && bus.HistogramBound(i-1) < budget && budget < bound {
			p.Bounds, p.BucketCounts = append(p.Bounds, budget.Seconds()), append(p.BucketCounts, 0)
		}
		p.Bounds, p.BucketCounts = append(p.Bounds, bound.Seconds()), append(p.BucketCounts, n)
	}
	p.BucketCounts = append(p.BucketCounts, h.Counts[last])
	return p
}
