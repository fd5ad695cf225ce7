package rules

// The bounds.
const (
	MaxGroups   = maxGroups
	MaxPeople   = maxPeople
	MaxSwitches = maxSwitches
	MaxCalled   = maxCalled
)

// Kept is how many groups, people, switches and calls are remembered.
func (r *Rules) Kept() [4]int {
	d := r.now.Load()
	return [4]int{len(d.groups), len(d.people), len(d.switches), len(r.called.order)}
}

// Sound reports whether the calls are the same in both of their forms.
func (r *Rules) Sound() bool {
	for _, group := range r.called.order {
		if _, is := r.called.is[group]; !is {
			return false
		}
	}
	return len(r.called.order) == len(r.called.is)
}
