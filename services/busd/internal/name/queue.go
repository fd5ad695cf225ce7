package name

// open adds a name; the caller lets its owner join at once.
func (r *Registry[O]) open(name string) *entry[O] {
	if r.entries == nil {
		r.entries = map[string]*entry[O]{}
		r.seats = map[seat[O]]*place[O]{}
		r.members = map[O]*member[O]{}
	}
	e := &entry[O]{name: name}
	r.entries[name] = e
	return e
}

// place returns o's place at e, nil if it has none; e may be nil.
func (r *Registry[O]) place(e *entry[O], o O) *place[O] {
	if e == nil {
		return nil
	}
	return r.seats[seat[O]{e, o}]
}

// join gives o, which has no place at e, the last one.
func (r *Registry[O]) join(e *entry[O], o O, flags uint32) *place[O] {
	p := &place[O]{entry: e, owner: o, flags: flags}
	e.insert(p, e.last)
	r.seats[seat[O]{e, o}] = p

	m := r.members[o]
	if m == nil {
		m = &member[O]{}
		r.members[o] = m
	}
	m.count++
	if p.older = m.newest; p.older != nil {
		p.older.newer = p
	}
	m.newest = p
	return p
}

// leave removes a place; with the last one the name goes.
func (r *Registry[O]) leave(p *place[O]) {
	e := p.entry
	e.remove(p)
	delete(r.seats, seat[O]{e, p.owner})
	if e.first == nil {
		delete(r.entries, e.name)
	}

	m := r.members[p.owner]
	if p.older != nil {
		p.older.newer = p.newer
	}
	if p.newer == nil {
		m.newest = p.older
	} else {
		p.newer.older = p.older
	}
	if m.count--; m.count == 0 {
		delete(r.members, p.owner)
	}
}

// moveBehind puts p, which is in the queue, right behind another place.
func (e *entry[O]) moveBehind(p, other *place[O]) {
	if other.behind == p {
		return
	}
	e.remove(p)
	e.insert(p, other)
}

// insert puts p behind another place, or in front of all if ahead is nil.
func (e *entry[O]) insert(p, ahead *place[O]) {
	p.ahead = ahead
	if ahead == nil {
		p.behind, e.first = e.first, p
	} else {
		p.behind, ahead.behind = ahead.behind, p
	}
	if p.behind == nil {
		e.last = p
	} else {
		p.behind.ahead = p
	}
}

// remove takes p out of the queue.
func (e *entry[O]) remove(p *place[O]) {
	if p.ahead == nil {
		e.first = p.behind
	} else {
		p.ahead.behind = p.behind
	}
	if p.behind == nil {
		e.last = p.ahead
	} else {
		p.behind.ahead = p.ahead
	}
	p.ahead, p.behind = nil, nil
}
