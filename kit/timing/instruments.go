package timing

import (
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"quartet/kit/budget"
	"quartet/kit/lockmap"
	"quartet/kit/pool"
)

// How many names there may be of each kind before "_OTHER" takes over. The
// SDK's own bound is 2,000 series an instrument.
const (
	maxOperations     = 100 // of requests
	maxPeers          = 16
	maxPeerOperations = 32 // of calls, for each peer
	maxErrorTypes     = 16 // for each operation of requests
)

// Instruments is what a process records into: make one and share it.
type Instruments struct {
	tracer     trace.Tracer // nil when no tracing is set up
	operations *names[Operation]
	peers      *names[Peer]

	request requestInstruments
	call    metric.Float64Histogram
	wait    waitInstruments

	budgets         observed[budget.Stats]
	locks           observed[lockmap.Stats]
	pools           observed[pool.Stats]
	journals        observed[journalStats]
	caches          observed[pool.CacheStats]
	telemetryErrors observed[int64]
}

// requestInstruments are recorded once a request.
type requestInstruments struct {
	duration, own, upstream, phase metric.Float64Histogram
}

// waitInstruments are recorded by the hooks of the kit's other parts.
type waitInstruments struct {
	budget, lock, hold, handshake, write, sync metric.Float64Histogram
}

// New makes the instruments. A nil provider stands for one that does nothing;
// with no tracer, or the API's no-op one, recording a request does not allocate.
// An error says which instrument the provider refused.
func New(mp metric.MeterProvider, tp trace.TracerProvider) (*Instruments, error) {
	if mp == nil {
		mp = metricnoop.NewMeterProvider()
	}
	in := &Instruments{}
	if _, noop := tp.(tracenoop.TracerProvider); tp != nil && !noop {
		in.tracer = tp.Tracer(scopeName)
	}
	in.operations = newNames(maxOperations, in.newOperation)
	in.peers = newNames(maxPeers, in.newPeer)

	b := &builder{meter: mp.Meter(scopeName)}
	in.buildRequests(b)
	in.buildBudgets(b)
	in.buildLocks(b)
	in.buildPools(b)
	in.buildJournals(b)
	in.buildTelemetry(b)
	if err := errors.Join(b.errs...); err != nil {
		return nil, fmt.Errorf("make instruments: %w", err)
	}
	return in, nil
}

func (in *Instruments) buildRequests(b *builder) {
	in.request = requestInstruments{
		duration: b.seconds(nameRequestDuration, "Time from the reading of a request's frame to its end.", sharedBounds),
		own:      b.seconds(nameRequestOwn, "Of a request's time, what was neither upstream nor send.", ownBounds),
		upstream: b.seconds(nameRequestUpstream, "Of a request's time, what outside parties worked for it; no entry if none did.", sharedBounds),
		phase:    b.seconds(nameRequestPhase, "A request's time by disjoint phases; no entry for a phase that took nothing.", sharedBounds),
	}
	in.call = b.seconds(nameCallDuration, "One call to an outside party, until its answer was read or closed.", sharedBounds)
}

// builder makes instruments and collects what went wrong.
type builder struct {
	meter metric.Meter
	errs  []error
}

func (b *builder) seconds(name, description string, bounds []float64) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	b.errs = append(b.errs, err)
	return h
}

// Operation is a kind of request, with the options of its series made ahead.
type Operation struct {
	in       *Instruments
	name     string
	outcome  byOutcome                     // operation, outcome
	phase    [phases][]metric.RecordOption // operation, phase
	failures *names[byOutcome]             // operation, outcome, error.type; by error.type
}

type byOutcome [outcomes][]metric.RecordOption

// Operation returns the operation of that name, always the same one. Names are
// those of our own commands and methods, never a stranger's text; names beyond
// the first 100 share the operation "_OTHER".
func (in *Instruments) Operation(name string) *Operation { return in.operations.get(name) }

func (in *Instruments) newOperation(name string) *Operation {
	operation := keyOperation.String(name)
	op := &Operation{in: in, name: name, outcome: outcomeSeries(operation)}
	for p, phase := range phaseNames {
		op.phase[p] = series(operation, keyPhase.String(phase))
	}
	op.failures = newNames(maxErrorTypes, func(errorType string) *byOutcome {
		s := outcomeSeries(operation, keyErrorType.String(errorType))
		return &s
	})
	return op
}

// outcomeSeries are the series that differ from each other in their outcome.
func outcomeSeries(attributes ...attribute.KeyValue) byOutcome {
	var s byOutcome
	for o, outcome := range outcomeNames {
		s[o] = series(slices.Concat(attributes, []attribute.KeyValue{keyOutcome.String(outcome)})...)
	}
	return s
}

// series is the option of one time series, made once and used for each record:
// attributes that are made at each record cost four times as much.
func series(attributes ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}
