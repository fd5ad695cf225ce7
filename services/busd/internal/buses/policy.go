package buses

import (
	"math"

	"quartet/services/busd/internal/wire"
)

// The policy that a launcher gives a listener. Every rule begins with its
// verdict and its rank; the highest rank that matches decides.
const (
	ownRule      = "(btbs)"       // verdict, rank, is it a prefix, name
	transferRule = "(btssssuutt)" // verdict, rank, name, path, interface, member, type, broadcast, least and most descriptors
	batch        = "(bta" + ownRule + "a" + transferRule + "a" + transferRule + ")"
	policy       = "(a(u" + batch + ")a(buu" + batch + ")a(ss)bs)" // by user, by groups or ranges of users, SELinux, AppArmor, type of the bus
)

// everybody is the user of the batch that all users have.
const everybody = math.MaxUint32

// allowAll appends the variant with a policy that allows everything.
func allowAll(e *wire.Encoder) {
	e.Variant(policy)
	e.Struct()
	users := e.OpenArray(8)
	e.Struct()
	e.Uint32(everybody)
	allowBatch(e)
	e.CloseArray(users)
	for range 2 { // none for groups, none for SELinux
		e.CloseArray(e.OpenArray(8))
	}
	e.Bool(false)
	e.String("session")
}

func allowBatch(e *wire.Encoder) {
	e.Struct()
	allow(e) // connect
	own := e.OpenArray(8)
	e.Struct()
	allow(e)
	e.Bool(true) // every name begins with nothing
	e.String("")
	e.CloseArray(own)
	for range 2 { // send, receive
		rules := e.OpenArray(8)
		e.Struct()
		allow(e)
		for range 4 { // any name, path, interface, member
			e.String("")
		}
		e.Uint32(0) // any type
		e.Uint32(0) // broadcast or not
		e.Uint64(0)
		e.Uint64(math.MaxUint64)
		e.CloseArray(rules)
	}
}

// allow appends a verdict and its rank.
func allow(e *wire.Encoder) {
	e.Bool(true)
	e.Uint64(1)
}
