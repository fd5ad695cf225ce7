package timing

// Phase is one of the disjoint parts of a request's time. At every moment a
// request is in exactly one of them.
type Phase int

const (
	// Queue is waiting for a slot, or for an earlier request of one's own.
	Queue Phase = iota
	// Dispatch is parsing, scope, policy, finding the handler.
	Dispatch
	// Compute is our code at work.
	Compute

	// The others cover the phase that Enter chose while something is waited
	// for, a later one the earlier ones.

	store    // our disk
	upstream // an outside party works for us
	send     // the outgoing effect and its confirmation

	phases = iota // how many there are
)

// String returns the value of the attribute phase.
func (p Phase) String() string { return phaseNames[p] }

// Outcome says how a request or a call ended.
type Outcome int

const (
	// OK is a request that was served.
	OK Outcome = iota
	// Rejected is a request that a rule of ours turned down.
	Rejected
	// Timeout is a request that ran out of time.
	Timeout
	// Canceled is a request that its sender, or our own stopping, gave up.
	Canceled
	// UpstreamError is a request that failed because an outside party did.
	UpstreamError
	// InternalError is a request that failed because of us.
	InternalError

	outcomes = iota // how many there are
)

// String returns the value of the attribute outcome.
func (o Outcome) String() string { return outcomeNames[o] }

// failed reports whether the outcome counts as an error. A request that a rule
// turned down or that nobody waits for any more has not failed.
func (o Outcome) failed() bool {
	return o == Timeout || o == UpstreamError || o == InternalError
}
