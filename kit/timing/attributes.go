package timing

import "go.opentelemetry.io/otel/attribute"

// This file is the only place that spells the name of an instrument, of an
// attribute or of one of its values: dashboards, alerts and the other services
// depend on them. testdata/attributes.golden pins them all.

// scopeName is the instrumentation scope of everything recorded here.
const scopeName = "quartet/kit/timing"

// Names of instruments.
const (
	nameRequestDuration  = "quartet.request.duration"
	nameRequestOwn       = "quartet.request.own.duration"
	nameRequestUpstream  = "quartet.request.upstream.duration"
	nameRequestPhase     = "quartet.request.phase.duration"
	nameCallDuration     = "quartet.upstream.call.duration"
	nameBudgetLimit      = "quartet.budget.limit"
	nameBudgetUsage      = "quartet.budget.usage"
	nameBudgetWaiting    = "quartet.budget.waiting"
	nameBudgetWait       = "quartet.budget.wait.duration"
	nameBudgetRejections = "quartet.budget.rejections"
	nameBudgetReclaimed  = "quartet.budget.reclaimed"
	nameLockEntries      = "quartet.lock.entries"
	nameLockWaiting      = "quartet.lock.waiting"
	nameLockWait         = "quartet.lock.wait.duration"
	nameLockHold         = "quartet.lock.hold.duration"
	nameLockRejections   = "quartet.lock.rejections"
	namePoolHandshake    = "quartet.pool.handshake.duration"
	namePoolConnections  = "quartet.pool.connections"
	nameJournalUsage     = "quartet.journal.usage"
	nameJournalLimit     = "quartet.journal.limit"
	nameJournalWrite     = "quartet.journal.write.duration"
	nameJournalSync      = "quartet.journal.sync.duration"
	nameCacheRequests    = "quartet.cache.requests"
	nameTelemetryErrors  = "quartet.telemetry.errors"
)

// Attribute keys of metrics; spans carry the same ones.
const (
	keyOperation = attribute.Key("operation")
	keyOutcome   = attribute.Key("outcome")
	keyPhase     = attribute.Key("phase")
	keyErrorType = attribute.Key("error.type")
	keyPeer      = attribute.Key("service.peer.name")
	keyReused    = attribute.Key("connection.reused")
	keyBudget    = attribute.Key("budget.name")
	keyLock      = attribute.Key("lock.name")
	keyJournal   = attribute.Key("journal.name")
	keyCache     = attribute.Key("cache.name")
	keyReason    = attribute.Key("reason")
	keyStage     = attribute.Key("stage")
	keyState     = attribute.Key("state")
	keyResult    = attribute.Key("result")
)

// Attribute keys of spans alone. The timings are seconds.
const (
	keyHTTPStatus     = attribute.Key("http.response.status_code")
	keyTimingQueue    = attribute.Key("quartet.timing.queue")
	keyTimingDispatch = attribute.Key("quartet.timing.dispatch")
	keyTimingCompute  = attribute.Key("quartet.timing.compute")
	keyTimingStore    = attribute.Key("quartet.timing.store")
	keyTimingUpstream = attribute.Key("quartet.timing.upstream")
	keyTimingSend     = attribute.Key("quartet.timing.send")
	keyTimingOwn      = attribute.Key("quartet.timing.own")
	keyTimingTotal    = attribute.Key("quartet.timing.total")
)

// other is the name that stands for all names beyond a bound, and the
// error.type of errors beyond it.
const other = "_OTHER"

// phaseNames and outcomeNames are the values of phase and outcome.
var (
	phaseNames   = [phases]string{"queue", "dispatch", "compute", "store", "upstream", "send"}
	outcomeNames = [outcomes]string{"ok", "rejected", "timeout", "canceled", "upstream_error", "internal_error"}
)

// stageNames are the values of stage, in the order in which a connection passes
// them.
var stageNames = [...]string{"dns", "connect", "tls"}

// Values of state, of a connection.
const (
	stateIdle = "idle"
	stateBusy = "busy"
)

// Values of result: what a cache had.
const (
	resultHit   = "hit"
	resultMiss  = "miss"
	resultStale = "stale"
	resultError = "error" // a remembered one
)

// Values of reason: why a budget gave nothing.
const (
	reasonCanceled = "canceled"
	reasonDeadline = "deadline"
	reasonClosed   = "closed"
	reasonTooLarge = "too_large"
	reasonFull     = "full"
)

// Bucket bounds, in seconds.
var (
	// ownBounds is dense around the budget for our own time, and has 100 ms as
	// a bound: how many requests kept the budget can then be read off exactly.
	ownBounds = []float64{
		0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05,
		0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 3.5, 5, 10,
	}
	// sharedBounds goes on for what outside parties take, people among them.
	sharedBounds = append(ownBounds[:len(ownBounds):len(ownBounds)], 30, 60, 300)
	// waitBounds starts where a lock's hold times are.
	waitBounds = []float64{
		0.00001, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
		0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
	}
)
