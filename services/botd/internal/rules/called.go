package rules

import (
	"fmt"
	"slices"
)

// called are unknown groups, in the order of their first calls.
type called struct {
	is    map[string]struct{}
	order []string
}

// add remembers a group, and forgets the oldest if there are too many.
func (c *called) add(group string) {
	if _, was := c.is[group]; was {
		return
	}
	if len(c.order) >= maxCalled {
		delete(c.is, c.order[0])
		c.order[0] = ""
		c.order = c.order[1:]
	}
	c.is[group] = struct{}{}
	c.order = append(c.order, group)
}

func (c *called) remove(group string) {
	if _, was := c.is[group]; !was {
		return
	}
	delete(c.is, group)
	c.order = slices.DeleteFunc(c.order, func(g string) bool { return g == group })
}

// FirstCall is true for a group that is not allowed and that admins were not told
// of, nor are being told: whom it tells so has to tell them, and to say with Told
// how that went. So many groups are remembered; the one that called longest ago may
// call for the first time again.
func (r *Rules) FirstCall(group string) bool {
	if r.Allowed(group) || r.hasCalled(group) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, has := r.called.is[group]
	_, telling := r.telling[group]
	if has || telling {
		return false
	}
	r.telling[group] = struct{}{}
	return true
}

// Told ends what FirstCall began. If no admin was told the next call is the first
// one. If that one was cannot be written, it is known until a restart.
func (r *Rules) Told(group string, told bool) error {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	told = told && !r.Allowed(group)
	var err error
	if told {
		err = r.w.Append(record{Op: call, Group: group}.encode())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.telling, group)
	if told {
		r.called.add(group)
	}
	if err != nil {
		return fmt.Errorf("remember an unknown group: %w", err)
	}
	return nil
}

func (r *Rules) hasCalled(group string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, has := r.called.is[group]
	return has
}

func (r *Rules) uncall(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.called.remove(group)
}
