package main

import (
	"slices"
	"testing"
	"time"

	"quartet/services/busd/internal/bus"
)

func TestNoBatchIsLostOnTheWayIntoTheHistogram(t *testing.T) {
	var h bus.Histogram
	for i := range h.Counts {
		h.Counts[i] = uint64(i + 1)
	}
	h.Sum = 3 * time.Second
	p := latency{}.point(time.Time{}, &h)
	var sum, kept uint64
	for i, n := range p.BucketCounts {
		sum += n
		if i < len(p.Bounds) && p.Bounds[i] <= budget.Seconds() {
			kept += n
		}
	}
	if sum != h.Count() || p.Count != sum || p.Sum != 3 {
		t.Errorf("%d in buckets, %d counted of %d, in %g s", sum, p.Count, h.Count(), p.Sum)
	}
	if len(p.BucketCounts) != len(p.Bounds)+1 || !slices.IsSorted(p.Bounds) || !slices.Contains(p.Bounds, budget.Seconds()) {
		t.Errorf("%d buckets with the bounds %v", len(p.BucketCounts), p.Bounds)
	}
	// What may have been beyond the budget is not said to have kept it.
	var want uint64
	for i, n := range h.Counts {
		if bus.HistogramBound(i) <= budget {
			want += n
		}
	}
	if kept != want {
		t.Errorf("%d kept the budget, want %d", kept, want)
	}
}
