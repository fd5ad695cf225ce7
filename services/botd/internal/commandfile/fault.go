package commandfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a file.
type Fault struct {
	Line int    // 0 when it is about the whole file
	At   string // the command or schedule, and the field
	What string
}

func (f Fault) Error() string {
	var parts []string
	if f.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", f.Line))
	}
	if f.At != "" {
		parts = append(parts, f.At)
	}
	return strings.Join(append(parts, f.What), ": ")
}

// Faults are all that is wrong, in the order of the lines.
type Faults []Fault

// maxFaults bounds how many are told: who made that many has begun wrongly.
const maxFaults = 50

func (f Faults) Error() string {
	var out strings.Builder
	for i, fault := range f {
		if i == maxFaults {
			fmt.Fprintf(&out, "\nand %d more", len(f)-i)
			break
		}
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(fault.Error())
	}
	return out.String()
}

func (f Faults) sorted() Faults {
	slices.SortStableFunc(f, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return f
}
