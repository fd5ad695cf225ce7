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

// FirstCall is true once for each group that is not allowed: admins are to be told
// of it. So many groups are remembered; the one that called longest ago may call
// for the first time again. If it cannot be written it is false, with an error, and
// the next call is the first one.
func (r *Rules) FirstCall(group string) (bool, error) {
	if r.Allowed(group) || r.hasCalled(group) {
		return false, nil
	}
	r.deciding.Lock()
	defer r.deciding.Unlock()
	if r.Allowed(group) || r.hasCalled(group) {
		return false, nil
	}
	if err := r.w.Append(record{Op: call, Group: group}.encode()); err != nil {
		return false, fmt.Errorf("remember an unknown group: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.called.add(group)
	return true, nil
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
