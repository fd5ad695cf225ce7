package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// cost is the unit that variants are compared by: processor time when every
// variant reports it, else wall time.
func (g *group) cost() string {
	for _, v := range g.variants {
		if _, ok := v.least["cpu-ns/op"]; !ok {
			return "ns/op"
		}
	}
	return "cpu-ns/op"
}

func (g *group) print(out io.Writer) error {
	unit := g.cost()
	runs := g.variants[0].runs
	for _, v := range g.variants {
		runs = min(runs, v.runs)
	}
	fmt.Fprintf(out, "\n%s %s (minimum of %d)\n", g.pkg, g.name, runs)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\t%s\tB/op\tallocs/op\t", unit)
	peers := false
	for _, v := range g.variants {
		peers = peers || !g.ours(v)
	}
	for _, ours := range g.variants {
		if peers && g.ours(ours) {
			fmt.Fprintf(t, "%s is\t", ours.name)
		}
	}
	fmt.Fprintln(t)
	for _, v := range g.variants {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t", v.name, v.show(unit), v.show("B/op"), v.show("allocs/op"))
		for _, ours := range g.variants {
			if peers && g.ours(ours) {
				fmt.Fprintf(t, "%s\t", ratio(g, ours, v, unit))
			}
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// ratio says what ours costs when the peer costs 1.
func ratio(g *group, ours, peer *variant, unit string) string {
	if g.ours(peer) || peer.least[unit] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx", ours.least[unit]/peer.least[unit])
}

// show prints a figure with three significant digits, "-" when it is missing.
func (v *variant) show(unit string) string {
	value, ok := v.least[unit]
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
