package match

import (
	"hash/maphash"
	"math/bits"
	"strings"

	"quartet/services/busd/internal/wire"
)

// shape is the set of keys of a rule that the index hashes. Two rules of one
// shape lie in one hash table; a message asks each table once, or once for each
// of the few values that fit one of the byOwner … byArg0Path keys.
type shape uint16

const (
	byInterface shape = 1 << iota
	byMember
	byPath
	bySender // a unique name, or the driver
	byArg0
	byArg1 // at most one of byArg1 … byArg3: the first that is there
	byArg2
	byArg3

	// At most one of these, because each is asked for with several values: the
	// names of the sender, or the beginnings of the path or of argument 0. Two
	// together would multiply.
	byOwner // a well-known sender
	byArg0Namespace
	byArg0Path
	byNamespace

	// eavesdropping is no key but a property; rules with it have tables of
	// their own, the only ones that a unicast message is looked up in.
	eavesdropping
)

const severalValues = byOwner | byArg0Namespace | byArg0Path | byNamespace

// hasher makes the keys of the tables. Its seed is random, so nobody can choose
// values that collide.
type hasher struct{ seed maphash.Seed }

func (h hasher) of(s string) uint64 { return maphash.String(h.seed, s) }

// rule hashes all of a rule.
func (h hasher) rule(r *Rule) uint64 {
	fixed := uint64(r.kind)<<16 | uint64(r.ends[4])
	if r.namespace {
		fixed |= 1 << 32
	}
	if r.Eavesdrop {
		fixed |= 1 << 33
	}
	ends := uint64(r.ends[0]) | uint64(r.ends[1])<<16 | uint64(r.ends[2])<<32 | uint64(r.ends[3])<<48
	return mix(mix(h.of(r.text), ends), fixed)
}

// mix adds the hash of a value to a key.
func mix(key, value uint64) uint64 {
	return bits.RotateLeft64(key^value, 23) * 0x9e3779b97f4a7c15
}

// filed returns under which shape and key a rule is found.
func (h hasher) filed(r *Rule) (shape, uint64) {
	s, several := shape(0), uint64(0)
	if r.Eavesdrop {
		s |= eavesdropping
	}
	key := uint64(0)
	add := func(by shape, value string) {
		if value == "" && by < byArg0 {
			return
		}
		switch {
		case by&severalValues == 0:
			key = mix(key, h.of(value))
		case s&severalValues == 0:
			several = h.of(value)
		default:
			return
		}
		s |= by
	}
	add(byInterface, r.field(fieldInterface))
	add(byMember, r.field(fieldMember))
	if !r.namespace {
		add(byPath, r.field(fieldPath))
	}
	sender := r.field(fieldSender)
	if !wellKnown(sender) {
		add(bySender, sender)
	} else {
		add(byOwner, sender)
	}
	for rest := r.args(); rest != ""; {
		var a argument
		a, rest = nextArg(rest)
		switch {
		case a.n == 0 && a.kind == argString:
			add(byArg0, a.value)
		case a.n == 0 && a.kind == argNamespace:
			add(byArg0Namespace, a.value)
		case a.n == 0 && a.kind == argPath:
			add(byArg0Path, a.value)
		case a.n <= 3 && a.kind == argString && s&(byArg1|byArg2|byArg3) == 0:
			add(byArg1<<(a.n-1), a.value)
		}
	}
	if r.namespace {
		add(byNamespace, r.field(fieldPath))
	}
	if s&severalValues != 0 {
		key = mix(key, several)
	}
	return s, key
}

// wellKnown reports whether a rule's sender is a name that changes hands.
func wellKnown(sender string) bool {
	// The driver's is nobody else's, so it is like a unique one.
	return sender != "" && sender[0] != ':' && sender != wire.BusName
}

// isUnique reports whether name belongs to one connection for good.
func isUnique(name string) bool { return strings.HasPrefix(name, ":") }
