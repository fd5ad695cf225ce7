package summary

import (
	"errors"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// histogram is a classic histogram: counts[i] observations were at most
// bounds[i] (cumulative); the last bound is +Inf.
type histogram struct {
	bounds []float64
	counts []uint64
	sum    float64
}

func readHistogram(h *dto.Histogram) histogram {
	out := histogram{sum: h.GetSampleSum()}
	for _, b := range h.GetBucket() {
		out.bounds = append(out.bounds, b.GetUpperBound())
		out.counts = append(out.counts, b.GetCumulativeCount())
	}
	if n := len(out.bounds); n > 0 && !math.IsInf(out.bounds[n-1], 1) {
		out.bounds = append(out.bounds, math.Inf(1))
		out.counts = append(out.counts, h.GetSampleCount())
	}
	return out
}

var errBuckets = errors.New("series of one histogram have different buckets")

// add puts o's observations into h.
func (h *histogram) add(o histogram) error {
	h.sum += o.sum
	if len(o.bounds) == 0 {
		return nil
	}
	if len(h.bounds) == 0 {
		h.bounds, h.counts = o.bounds, slices.Clone(o.counts)
		return nil
	}
	if !slices.Equal(h.bounds, o.bounds) {
		return errBuckets
	}
	for i, n := range o.counts {
		h.counts[i] += n
	}
	return nil
}

// quantile estimates as Prometheus' histogram_quantile does: linear inside a
// bucket, from zero in the first, and the highest finite bound for what lies
// beyond it.
func (h *histogram) quantile(q float64) (float64, bool) {
	n := len(h.counts)
	if n < 2 || h.counts[n-1] == 0 {
		return 0, false
	}
	rank := q * float64(h.counts[n-1])
	i := 0
	for i < n-1 && float64(h.counts[i]) < rank {
		i++
	}
	if i == n-1 {
		return h.bounds[n-2], true
	}
	var low float64
	var below uint64
	if i > 0 {
		low, below = h.bounds[i-1], h.counts[i-1]
	}
	in := h.counts[i] - below
	if in == 0 {
		return h.bounds[i], true
	}
	return low + (h.bounds[i]-low)*(rank-float64(below))/float64(in), true
}
