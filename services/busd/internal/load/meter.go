package load

import (
	"slices"
	"time"
)

// meter measures from start to stop.
type meter struct {
	began time.Time
	cpu   time.Duration
}

// start begins the measured part of a run.
func (r *run) start() error {
	if err := r.bus.ForgetPeak(); err != nil {
		return err
	}
	cpu, err := r.bus.CPU()
	r.meter = meter{began: time.Now(), cpu: cpu}
	return err
}

// stop ends it.
func (r *run) stop() error {
	r.result.Wall = time.Since(r.meter.began)
	cpu, err := r.bus.CPU()
	if err != nil {
		return err
	}
	r.result.CPU = cpu - r.meter.cpu
	memory, err := r.bus.Memory()
	if err != nil {
		return err
	}
	r.result.Figures[PeakMemory] = float64(memory.Peak >> 10)
	r.result.Count = r.size.Count
	return nil
}

// latencies notes p50 and p99 of what operations took.
func (r *run) latencies(took []time.Duration) {
	slices.Sort(took)
	r.result.Figures[P50] = micros(quantile(took, 0.50))
	r.result.Figures[P99] = micros(quantile(took, 0.99))
}

// quantile is of sorted values; 0 when there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
