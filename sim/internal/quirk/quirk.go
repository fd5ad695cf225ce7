// Package quirk holds the named switches that make a simulator misbehave the
// way the real party does. A test turns exactly one fault on, for an exact
// number of calls, and so stays deterministic.
//
// Guarantee: a count quirk fires exactly as often as it was set, however many
// requests race for it. A list of changes is applied whole or not at all, and
// a refusal names every fault in it.
//
// It does not know what a switch means: the simulator that defines it does.
package quirk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Kind says which values a quirk takes.
type Kind string

// The kinds of quirks.
const (
	Switch   Kind = "switch"   // true or false
	Count    Kind = "count"    // how many more times it fires; -1 (or true) = every time
	Number   Kind = "number"   // an integer
	Duration Kind = "duration" // "54s"; a bare number is seconds
	Text     Kind = "text"     // any string, or one of Choices
	Rates    Kind = "rates"    // {"choice": probability 0..1}
	Fixed    Kind = "fixed"    // always on: behaviour of the real party that is listed, never changed
)

// Always is the value of a count quirk that never runs out.
const Always int64 = -1

// Def defines one quirk.
type Def struct {
	Name      string
	Kind      Kind
	Default   any      // bool, int64, time.Duration, string or map[string]float64, by Kind; nil = its zero
	Choices   []string // for Text: the allowed values, empty = any; for Rates: the allowed keys
	StartOnly bool     // it acts while the simulator starts: refused afterwards
	Doc       string
}

// Set is a simulator's quirks. It is safe for use by several goroutines.
type Set struct {
	defs  []Def
	index map[string]int // immutable after New

	mu      sync.Mutex
	values  []any // guarded by mu; one per def
	initial []any // guarded by mu; what Reset goes back to
	started bool  // guarded by mu
}

// New makes a set in which every quirk has its default.
// It panics on a name defined twice: that is a bug of the simulator.
func New(defs ...Def) *Set {
	s := &Set{defs: defs, index: make(map[string]int, len(defs))}
	for i, d := range defs {
		if _, twice := s.index[d.Name]; twice {
			panic("quirk: defined twice: " + d.Name)
		}
		s.index[d.Name] = i
		s.values = append(s.values, d.zero())
	}
	s.initial = slices.Clone(s.values)
	return s
}

func (d Def) zero() any {
	if d.Default != nil {
		return d.Default
	}
	switch d.Kind {
	case Switch:
		return false
	case Count, Number:
		return int64(0)
	case Duration:
		return time.Duration(0)
	case Rates:
		return map[string]float64{}
	case Fixed:
		return true
	default:
		return ""
	}
}

// Freeze makes the present values those that Reset goes back to, and ends the
// time in which start-only quirks may be set.
func (s *Set) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initial, s.started = slices.Clone(s.values), true
}

// Reset puts every quirk back to what it was at Freeze.
func (s *Set) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	copy(s.values, s.initial)
}

// On says whether a switch is on.
func (s *Set) On(name string) bool { return get[bool](s, name) }

// Number returns the value of a number quirk.
func (s *Set) Number(name string) int64 { return get[int64](s, name) }

// Duration returns the value of a duration quirk.
func (s *Set) Duration(name string) time.Duration { return get[time.Duration](s, name) }

// Text returns the value of a text quirk.
func (s *Set) Text(name string) string { return get[string](s, name) }

// Rates returns the probabilities of a rates quirk; the caller must not change them.
func (s *Set) Rates(name string) map[string]float64 { return get[map[string]float64](s, name) }

// Take uses a count quirk up by one and says whether it fires.
func (s *Set) Take(name string) bool {
	i := s.at(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.values[i].(int64)
	if n > 0 {
		s.values[i] = n - 1
	}
	return n != 0
}

func get[T any](s *Set, name string) T {
	i := s.at(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[i].(T)
}

func (s *Set) at(name string) int {
	i, ok := s.index[name]
	if !ok {
		panic("quirk: not defined: " + name)
	}
	return i
}

// Values returns every quirk by name, as JSON shows it.
func (s *Set) Values() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]any, len(s.defs))
	for i, d := range s.defs {
		out[d.Name] = shown(s.values[i])
	}
	return out
}

// Description is what a person has to know about one quirk.
type Description struct {
	Name      string   `json:"name"`
	Kind      Kind     `json:"kind"`
	Default   any      `json:"default"`
	Value     any      `json:"value"`
	Choices   []string `json:"choices,omitempty"`
	StartOnly bool     `json:"start_only,omitempty"`
	Doc       string   `json:"doc"`
}

// Describe returns every quirk with its meaning, in the order of definition.
func (s *Set) Describe() []Description {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Description, len(s.defs))
	for i, d := range s.defs {
		out[i] = Description{d.Name, d.Kind, shown(d.zero()), shown(s.values[i]), d.Choices, d.StartOnly, d.Doc}
	}
	return out
}

func shown(v any) any {
	if d, ok := v.(time.Duration); ok {
		return d.String()
	}
	return v
}

// Merge changes the quirks named in body, a JSON object, and leaves the others.
func (s *Set) Merge(body map[string]json.RawMessage) error {
	changes := make(map[int]any, len(body))
	var faults []error
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(body)) {
		i, ok := s.index[name]
		if !ok {
			faults = append(faults, fmt.Errorf("unknown quirk %q", name))
			continue
		}
		v, err := s.defs[i].decode(body[name])
		if err == nil && s.defs[i].StartOnly && s.started {
			err = errors.New("acts only at the start: give it on the command line")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("quirk %s: %w", name, err))
			continue
		}
		changes[i] = v
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	for i, v := range changes {
		s.values[i] = v
	}
	return nil
}
