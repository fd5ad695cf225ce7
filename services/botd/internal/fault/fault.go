// Package fault ends the process in the middle of a message's way, so that a
// test sees what a crash there costs. Only builds with -tags fault can: in all
// others Point is empty and costs nothing.
//
// In such a build FAULT_POINT=journaled:3 kills it, as kill -9 does, when a
// message passes that point for the third time. Without the variable nothing
// happens. A wrong value ends the process at the first point.
//
// It plays no loss of power and no failing disk: what was written is there
// afterwards.
package fault

// Stage is a point of a message's way.
type Stage string

// The points, in the order in which a message passes them.
const (
	Received  Stage = "received"  // read from the connection, nothing known of it
	Spilled   Stage = "spilled"   // on disk behind a full backlog, not yet in the ledger
	Journaled Stage = "journaled" // in the ledger
	Reserved  Stage = "reserved"  // the cooldown is reserved, the command has not run
	Begun     Stage = "begun"     // in flight by the ledger, nothing sent
	Sent      Stage = "sent"      // the transport has answered, the ledger does not know it
	Settled   Stage = "settled"   // the ledger knows what became of it
)

// Stages lists them all.
func Stages() []Stage {
	return []Stage{Received, Spilled, Journaled, Reserved, Begun, Sent, Settled}
}
