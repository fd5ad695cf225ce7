package commandfile

import "reflect"

// Change is what became of a command or schedule from one file to the next.
type Change struct {
	Name string
	What string // "added", "changed" or "removed"
}

// Diff is what is different in f after before, commands and then schedules, in
// the order of the files. Where something stands in its file is no difference.
func (f *File) Diff(before *File) (commands, schedules []Change) {
	commands = diff(before.Commands, f.Commands, func(c Command) (string, any) { c.Line = 0; return c.Name, c })
	schedules = diff(before.Schedules, f.Schedules, func(s Schedule) (string, any) {
		plan := s.Plan.String() // of one plan there may be two values
		s.Line, s.Plan = 0, nil
		return s.Name, [2]any{s, plan}
	})
	return commands, schedules
}

func diff[T any](before, after []T, look func(T) (name string, rest any)) []Change {
	old := make(map[string]any, len(before))
	for _, each := range before {
		name, rest := look(each)
		old[name] = rest
	}
	var changes []Change
	for _, each := range after {
		name, rest := look(each)
		was, there := old[name]
		delete(old, name)
		switch {
		case !there:
			changes = append(changes, Change{name, "added"})
		case !reflect.DeepEqual(was, rest):
			changes = append(changes, Change{name, "changed"})
		}
	}
	for _, each := range before {
		if name, _ := look(each); old[name] != nil {
			changes = append(changes, Change{name, "removed"})
		}
	}
	return changes
}
