package name

import "strings"

// Request lets o ask for a name, as RequestName does. changed says whether the
// name has a new owner, which then is o; c says who lost it. The name is
// cloned where it is kept.
func (r *Registry[O]) Request(name string, o O, flags uint32) (reply uint32, c Change[O], changed bool) {
	e := r.entries[name]
	if e == nil {
		e = r.open(strings.Clone(name))
		r.join(e, o, flags)
		return PrimaryOwner, Change[O]{Name: e.name, New: o}, true
	}
	owner := e.first
	if owner.owner == o {
		owner.flags = flags
		return AlreadyOwner, c, false
	}
	replaces := flags&ReplaceExisting != 0 && owner.flags&AllowReplacement != 0
	if !replaces && flags&DoNotQueue != 0 {
		// Whoever does not want to wait cannot go on waiting from before.
		if p := r.place(e, o); p != nil {
			r.leave(p)
		}
		return Exists, c, false
	}
	p := r.place(e, o)
	if p == nil {
		p = r.join(e, o, flags)
	}
	p.flags = flags
	if flags&ReplaceExisting != 0 {
		e.moveBehind(p, owner)
	}
	if !replaces {
		return InQueue, c, false
	}
	c = Change[O]{Name: e.name, Old: owner.owner, New: o}
	if owner.flags&DoNotQueue != 0 {
		r.leave(owner)
	} else {
		e.moveBehind(owner, p)
	}
	return PrimaryOwner, c, true
}

// Release lets o give up a name or its place in the queue, as ReleaseName does.
// changed says whether the name has another owner now, or none.
func (r *Registry[O]) Release(name string, o O) (reply uint32, c Change[O], changed bool) {
	e := r.entries[name]
	if e == nil {
		return NonExistent, c, false
	}
	p := r.place(e, o)
	if p == nil {
		return NotOwner, c, false
	}
	c, changed = r.release(p)
	return Released, c, changed
}

// ReleaseAll lets o give up all its names and places, the last it asked for
// first, and returns what changed hands.
func (r *Registry[O]) ReleaseAll(o O) []Change[O] {
	m := r.members[o]
	if m == nil {
		return nil
	}
	var list []Change[O]
	for m.newest != nil {
		if c, changed := r.release(m.newest); changed {
			list = append(list, c)
		}
	}
	return list
}

// release gives up one place.
func (r *Registry[O]) release(p *place[O]) (c Change[O], changed bool) {
	e := p.entry
	changed = e.first == p
	r.leave(p)
	if !changed {
		return c, false
	}
	c = Change[O]{Name: e.name, Old: p.owner}
	if e.first != nil {
		c.New = e.first.owner
	}
	return c, true
}
