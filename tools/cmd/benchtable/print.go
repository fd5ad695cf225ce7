package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// cost is the unit that variants are compared by: processor time when every
// variant reports it, else wall time.
func (g *group) cost() string {
	for _, v := range g.variants {
		if len(v.figures["cpu-ns/op"]) == 0 {
			return "ns/op"
		}
	}
	return "cpu-ns/op"
}

// costs are the units of what an operation takes.
var costs = []string{"ns/op", "cpu-ns/op", "B/op", "allocs/op"}

// others are the units of g that are no costs: rates, percentiles, ratios.
func (g *group) others() []string {
	units := map[string]bool{}
	for _, v := range g.variants {
		for unit := range v.figures {
			if !slices.Contains(costs, unit) {
				units[unit] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(units))
}

func (g *group) print(out io.Writer) error {
	costs, others := []string{g.cost(), "B/op", "allocs/op"}, g.others()
	runs := g.variants[0].runs
	for _, v := range g.variants {
		runs = min(runs, v.runs)
	}
	how := "minimum"
	if len(others) > 0 {
		how = "minimum, behind allocs/op median,"
	}
	fmt.Fprintf(out, "\n%s %s (%s of %d)\n", g.pkg, g.name, how, runs)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\t%s\t", strings.Join(append(slices.Clone(costs), others...), "\t"))
	peers := slices.ContainsFunc(g.variants, func(v *variant) bool { return !g.ours(v) })
	for _, ours := range g.variants {
		if peers && g.ours(ours) {
			fmt.Fprintf(t, "%s is\t", ours.name)
		}
	}
	fmt.Fprintln(t)
	for _, v := range g.variants {
		fmt.Fprintf(t, "%s\t", v.name)
		for _, unit := range costs {
			fmt.Fprintf(t, "%s\t", show(v.least(unit)))
		}
		for _, unit := range others {
			fmt.Fprintf(t, "%s\t", show(v.median(unit)))
		}
		for _, ours := range g.variants {
			if peers && g.ours(ours) {
				fmt.Fprintf(t, "%s\t", ratio(g, ours, v, costs[0]))
			}
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// ratio says what ours costs when the peer costs 1.
func ratio(g *group, ours, peer *variant, unit string) string {
	our, _ := ours.least(unit)
	its, _ := peer.least(unit)
	if g.ours(peer) || its == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx", our/its)
}

func (v *variant) least(unit string) (float64, bool) {
	values := v.figures[unit]
	if len(values) == 0 {
		return 0, false
	}
	return slices.Min(values), true
}

func (v *variant) median(unit string) (float64, bool) {
	values := slices.Sorted(slices.Values(v.figures[unit]))
	n := len(values)
	if n == 0 {
		return 0, false
	}
	return (values[(n-1)/2] + values[n/2]) / 2, true
}

// show prints a figure with three significant digits, "-" when it is missing.
func show(value float64, ok bool) string {
	switch {
	case !ok:
		return "-"
	case value < 10 && value != float64(int(value)):
		return strconv.FormatFloat(value, 'f', 2, 64)
	case value < 100 && value != float64(int(value)):
		return strconv.FormatFloat(value, 'f', 1, 64)
	}
	return strconv.FormatFloat(value, 'f', 0, 64)
}
