// Package summary reads a service's /metrics page and says, for each
// operation, how many requests ended and whose time they took: the service's
// own, and that of others (upstream calls, the send).
//
// It knows the few metric names that every service of this repository shares;
// everything else on the page is ignored. Figures are since the service
// started.
package summary

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The shared names, as Prometheus shows them.
const (
	requestSeconds = "quartet_request_duration_seconds"
	ownSeconds     = "quartet_request_own_duration_seconds"
	phaseSeconds   = "quartet_request_phase_duration_seconds"
)

// Operation is what one operation of a service did so far. The zero value is
// an operation that never ran.
type Operation struct {
	Name     string
	Count    uint64            // requests that ended
	OK       uint64            // of them, those with outcome ok
	others   map[string]uint64 // the rest, by outcome
	own      histogram
	total    float64 // seconds
	upstream float64
	send     float64
}

// Snapshot is one reading of a service's metrics, sorted by operation.
type Snapshot []Operation

// Parse reads the Prometheus text format.
func Parse(r io.Reader) (Snapshot, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	ops := map[string]*Operation{}
	get := func(labels []*dto.LabelPair) *Operation {
		name := label(labels, "operation")
		if ops[name] == nil {
			ops[name] = &Operation{Name: name, others: map[string]uint64{}}
		}
		return ops[name]
	}
	for _, m := range families[requestSeconds].GetMetric() {
		op := get(m.Label)
		n := m.GetHistogram().GetSampleCount()
		op.Count += n
		op.total += m.GetHistogram().GetSampleSum()
		if outcome := label(m.Label, "outcome"); outcome == "ok" {
			op.OK += n
		} else if n > 0 {
			op.others[outcome] += n
		}
	}
	for _, m := range families[ownSeconds].GetMetric() {
		if err := get(m.Label).own.add(readHistogram(m.GetHistogram())); err != nil {
			return nil, fmt.Errorf("%s: %w", ownSeconds, err)
		}
	}
	for _, m := range families[phaseSeconds].GetMetric() {
		switch label(m.Label, "phase") {
		case "upstream":
			get(m.Label).upstream += m.GetHistogram().GetSampleSum()
		case "send":
			get(m.Label).send += m.GetHistogram().GetSampleSum()
		}
	}
	var s Snapshot
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		if ops[name].Count > 0 {
			s = append(s, *ops[name])
		}
	}
	return s, nil
}

// All adds up the operations. Its name is "all".
func (s Snapshot) All() Operation {
	all := Operation{Name: "all", others: map[string]uint64{}}
	for _, op := range s {
		all.Count += op.Count
		all.OK += op.OK
		for outcome, n := range op.others {
			all.others[outcome] += n
		}
		all.total += op.total
		all.upstream += op.upstream
		all.send += op.send
		// Parse has refused differing buckets within one instrument.
		_ = all.own.add(op.own)
	}
	return all
}

// OwnQuantile estimates the service's own time below which a share q of its
// requests stayed, as exact as the histogram's buckets. ok is false when
// nothing was measured.
func (o Operation) OwnQuantile(q float64) (d time.Duration, ok bool) {
	seconds, ok := o.own.quantile(q)
	return toDuration(seconds), ok
}

// Upstream is the mean time a request waited for outside parties.
func (o Operation) Upstream() time.Duration { return o.mean(o.upstream) }

// Send is the mean time a request waited for its outgoing effect.
func (o Operation) Send() time.Duration { return o.mean(o.send) }

// OwnShare is the part of all the time that was the service's own, 0 to 1.
func (o Operation) OwnShare() float64 {
	if o.total == 0 {
		return 0
	}
	return o.own.sum / o.total
}

func (o Operation) mean(seconds float64) time.Duration {
	if o.Count == 0 {
		return 0
	}
	return toDuration(seconds / float64(o.Count))
}

func toDuration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}

func label(labels []*dto.LabelPair, name string) string {
	for _, l := range labels {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
