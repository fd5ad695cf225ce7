package timing

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// report records an ended request into the histograms and its span.
func (r *Record) report(outcome Outcome, err error, t Times) {
	in, ctx := r.op.in, r.exemplar
	errorType := ""
	whole := r.op.outcome[outcome]
	if outcome.failed() {
		errorType = typeOf(err, outcome)
		whole = r.op.failures.get(errorType)[outcome]
	}

	in.request.duration.Record(ctx, t.Total().Seconds(), whole...)
	in.request.own.Record(ctx, t.Own().Seconds(), r.op.outcome[outcome]...)
	if t.Upstream > 0 {
		in.request.upstream.Record(ctx, t.Upstream.Seconds(), r.op.outcome[outcome]...)
	}
	for p, spent := range r.spent {
		if spent > 0 {
			in.request.phase.Record(ctx, spent.Seconds(), r.op.phase[p]...)
		}
	}
	if r.span != nil {
		endRequestSpan(r.span, r.begin.Add(t.Total()), outcome, errorType, t)
	}
}

// exemplarContext is the cheapest context that leads to the same exemplars:
// each record asks its context for the span, through all layers of it.
func exemplarContext(ctx context.Context) context.Context {
	if trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx
	}
	return context.Background()
}

// endRequestSpan puts the times on the span, in seconds, and ends it at the
// moment at which the record ended, so that its length is their sum.
func endRequestSpan(span trace.Span, at time.Time, outcome Outcome, errorType string, t Times) {
	if span.IsRecording() {
		span.SetAttributes(
			keyOutcome.String(outcome.String()),
			keyTimingQueue.Float64(t.Queue.Seconds()),
			keyTimingDispatch.Float64(t.Dispatch.Seconds()),
			keyTimingCompute.Float64(t.Compute.Seconds()),
			keyTimingStore.Float64(t.Store.Seconds()),
			keyTimingUpstream.Float64(t.Upstream.Seconds()),
			keyTimingSend.Float64(t.Send.Seconds()),
			keyTimingOwn.Float64(t.Own().Seconds()),
			keyTimingTotal.Float64(t.Total().Seconds()),
		)
		if outcome.failed() {
			fail(span, errorType)
		}
	}
	span.End(trace.WithTimestamp(at))
}

// fail marks a span as failed.
func fail(span trace.Span, errorType string) {
	span.SetAttributes(keyErrorType.String(errorType))
	span.SetStatus(codes.Error, errorType)
}

// typeOf is the error.type of a failure: the Go type of the innermost error whose
// type says something, or else the outcome; of several errors wrapped in one, the
// last counts. Types are bounded by the program; texts are not, and may carry
// what users wrote.
func typeOf(err error, outcome Outcome) string {
	name := outcome.String()
	if outcome == Timeout {
		return name
	}
	for ; err != nil; err = innerOf(err) {
		if status, ok := err.(statusError); ok {
			return strconv.Itoa(int(status))
		}
		if t := reflect.TypeOf(err).String(); !slices.Contains(wordless, t) {
			name = t
		}
	}
	return name
}

// innerOf is what err wraps, nil if nothing.
func innerOf(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		if all := several.Unwrap(); len(all) > 0 {
			return all[len(all)-1]
		}
	}
	return errors.Unwrap(err)
}

// wordless are the types of errors that are nothing but text.
var wordless = []string{"*errors.errorString", "*errors.joinError", "*fmt.wrapError", "*fmt.wrapErrors"}
