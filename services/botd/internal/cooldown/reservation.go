package cooldown

import (
	"time"

	"quartet/services/botd/internal/store"
)

// Reservation is a use that passed. All its methods may be called on nil.
type Reservation struct {
	gate   *Gate
	use    Use
	limits Limits
	number int64

	written []record // guarded by gate.mu
}

// Records keeps the use: they make it survive a restart, and are to be written
// with what begins the answer. A wait that is over already has none.
func (r *Reservation) Records(now time.Time) []store.Record {
	if r == nil {
		return nil
	}
	return encode(r.keep(now))
}

func (r *Reservation) keep(now time.Time) []record {
	g := r.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.clock(now)
	r.written = nil
	for e := range r.own {
		if e.over() > t {
			e.kept = true
			r.written = append(r.written, g.account(e))
		}
	}
	return r.written
}

// Refund takes the use back, and nothing that was reserved since. After Records,
// what it returns undoes them; a bot that is killed before it is written starts
// with a use that counts. The second time it does nothing.
func (r *Reservation) Refund() []store.Record {
	if r == nil {
		return nil
	}
	return encode(r.giveBack())
}

func (r *Reservation) giveBack() []record {
	g := r.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	for e := range r.own {
		g.drop(e)
	}
	undo := make([]record, len(r.written))
	for i, w := range r.written {
		undo[i] = record{Scope: w.Scope, Person: w.Person, Group: w.Group, Command: w.Command, Use: w.Use, Undone: true}
	}
	r.written = nil
	return undo
}

// Fail takes the use back, before Records, but for a moment: until that is over,
// counted from the use and no longer than its own waits, the same person does not
// pass with this command. Else whoever fails could ask as fast as they type.
func (r *Reservation) Fail(moment time.Duration) {
	if r == nil {
		return
	}
	g := r.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	var last *entry
	for e := range r.own {
		if last == nil || e.over() > last.over() {
			last = e
		}
		g.drop(e)
	}
	if last == nil {
		return
	}
	w := wait{r.use.failure(), min(last.limit, moment)}
	if e := g.entries[w.key]; e == nil || e.over() < last.at+w.limit {
		g.begin(w, last.at)
	}
}

// own calls do with the waits that this use began and no other has begun since.
// Called with gate.mu held.
func (r *Reservation) own(do func(*entry) bool) {
	var room [scopes]wait
	for _, w := range r.use.waits(r.limits, room[:0]) {
		if e := r.gate.entries[w.key]; e != nil && e.use == r.number && !do(e) {
			return
		}
	}
}
