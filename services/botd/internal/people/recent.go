package people

import "slices"

// recent has the tallies in the order of counting. They are in one piece of memory
// without pointers, so that it can be copied while nobody waits for long.
type recent struct {
	places  map[mark]int32
	tallies []tally // the first is none: behind it comes the oldest, before it the newest
	free    []int32
}

// tally is of one person.
type tally struct {
	mark         mark
	uses         int64
	era          int64 // of the last count
	older, newer int32
}

func newRecent() recent {
	return recent{places: make(map[mark]int32), tallies: make([]tally, 1)}
}

// find returns a person's tally, nil if there is none. It is valid until the
// next change.
func (r *recent) find(m mark) *tally {
	if at, ok := r.places[m]; ok {
		return &r.tallies[at]
	}
	return nil
}

// touch makes a person the one that was counted last, a new one in the oldest's
// place if there is no room.
func (r *recent) touch(m mark) *tally {
	at, known := r.places[m]
	if known {
		r.unlink(at)
	} else {
		if len(r.places) >= maxTallied {
			r.remove(r.tallies[r.tallies[0].newer].mark)
		}
		at = r.place()
		r.tallies[at].mark = m
		r.places[m] = at
	}
	last := r.tallies[0].older
	r.tallies[at].older, r.tallies[at].newer = last, 0
	r.tallies[last].newer, r.tallies[0].older = at, at
	return &r.tallies[at]
}

// place is room for one.
func (r *recent) place() int32 {
	if last := len(r.free) - 1; last >= 0 {
		at := r.free[last]
		r.free = r.free[:last]
		return at
	}
	r.tallies = append(r.tallies, tally{})
	return int32(len(r.tallies) - 1)
}

// remove forgets a person.
func (r *recent) remove(m mark) {
	at, ok := r.places[m]
	if !ok {
		return
	}
	r.unlink(at)
	r.tallies[at] = tally{}
	r.free = append(r.free, at)
	delete(r.places, m)
}

func (r *recent) unlink(at int32) {
	t := r.tallies[at]
	r.tallies[t.older].newer, r.tallies[t.newer].older = t.newer, t.older
}

// copied are the tallies in a copy, for oldestFirst.
func (r *recent) copied() recent { return recent{tallies: slices.Clone(r.tallies)} }

// oldestFirst calls do with all of them.
func (r *recent) oldestFirst(do func(tally) bool) {
	for at := r.tallies[0].newer; at != 0; at = r.tallies[at].newer {
		if !do(r.tallies[at]) {
			return
		}
	}
}
