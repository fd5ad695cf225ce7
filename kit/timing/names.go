package timing

import (
	"maps"
	"sync"
	"sync/atomic"
)

// names keeps one value a name, made at the name's first use. A name that would
// be one too many gets the value of "_OTHER": whoever invents names, perhaps a
// stranger, cannot make the number of time series grow without limit.
//
// A look-up of a known name is one read of a map that is never modified.
type names[V any] struct {
	limit int
	build func(name string) *V

	mu    sync.Mutex                    // held by the writer
	known atomic.Pointer[map[string]*V] // replaced, never modified
}

func newNames[V any](limit int, build func(name string) *V) *names[V] {
	n := &names[V]{limit: limit, build: build}
	n.known.Store(&map[string]*V{})
	return n
}

// get returns the value of name, or that of "_OTHER".
func (n *names[V]) get(name string) *V {
	if v := (*n.known.Load())[name]; v != nil {
		return v
	}
	return n.add(name)
}

func (n *names[V]) add(name string) *V {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := *n.known.Load()
	if known[name] == nil && len(known) >= n.limit {
		name = other
	}
	if v := known[name]; v != nil {
		return v
	}
	v := n.build(name)
	known = maps.Clone(known)
	known[name] = v
	n.known.Store(&known)
	return v
}
