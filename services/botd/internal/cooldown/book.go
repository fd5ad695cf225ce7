package cooldown

import (
	"container/heap"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"quartet/services/botd/internal/store"
)

// letter is what the gate's records are told by.
const letter = 'c'

// record is one wait that has begun, or was undone, as it stands in the journal.
type record struct {
	Scope   scope  `json:"s"`
	Person  string `json:"p,omitempty"`
	Group   string `json:"g,omitempty"`
	Command string `json:"c,omitempty"`
	Use     int64  `json:"n"`            // which use began it; grows
	At      int64  `json:"at,omitempty"` // when, Unix nanoseconds
	Limit   int64  `json:"d,omitempty"`  // nanoseconds
	Undone  bool   `json:"x,omitempty"`
}

func (r record) key() key { return key{r.Scope, r.Person, r.Group, r.Command} }

// valid keeps out what no gate has written and what would overflow.
func (r record) valid() bool {
	return r.Scope >= user && r.Scope <= global &&
		r.Use > 0 && r.Use < 1<<62 &&
		(r.Undone || r.At >= 0 && r.At < math.MaxInt64-int64(longest) && r.Limit > 0 && r.Limit <= int64(longest))
}

// account is what is written of a wait. Called with g.mu held.
func (g *Gate) account(e *entry) record {
	return record{
		Scope: e.key.scope, Person: e.key.person, Group: e.key.group, Command: e.key.command,
		Use: e.use, At: max(int64(e.at+g.skew), 0), Limit: int64(e.limit),
	}
}

func encode(all []record) []store.Record {
	if len(all) == 0 {
		return nil
	}
	to := make([]store.Record, len(all))
	for i, r := range all {
		raw, _ := json.Marshal(r) // words and numbers: it cannot fail
		to[i] = store.Record{Book: letter, Data: raw}
	}
	return to
}

// Letter implements store.Book.
func (g *Gate) Letter() byte { return letter }

// Apply implements store.Book.
func (g *Gate) Apply(data []byte) error {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if !r.valid() {
		return errors.New("no wait that a gate began")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uses = max(g.uses, r.Use)
	e := g.entries[r.key()]
	switch {
	case r.Undone:
		if e != nil && e.use == r.Use {
			g.drop(e)
		}
	case e == nil:
		g.add(&entry{key: r.key(), at: time.Duration(r.At), limit: time.Duration(r.Limit), use: r.Use, kept: true})
	case e.use <= r.Use: // or two were written in the other order
		e.at, e.limit, e.use = time.Duration(r.At), time.Duration(r.Limit), r.Use
		heap.Fix(&g.soonest, e.place)
	}
	if len(g.soonest) > maxEntries {
		g.drop(g.soonest[0]) // over: never did more than these run at once
	}
	return nil
}

// Dump implements store.Book. What is only reserved is not in it.
func (g *Gate) Dump(add func(data []byte) error) error {
	g.mu.Lock()
	all := slices.Clone(g.soonest)
	g.mu.Unlock()
	for _, e := range all {
		r, kept := g.keptOf(e)
		if !kept {
			continue
		}
		if err := add(encode([]record{r})[0].Data); err != nil {
			return err
		}
	}
	return nil
}

// keptOf is what is to be written of an entry; kept is false when it has nothing.
// With Dump's copy it keeps nobody waiting for long.
func (g *Gate) keptOf(e *entry) (r record, kept bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.account(e), e.kept && g.entries[e.key] == e
}
