package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"quartet/services/busd/internal/buses"
	"quartet/services/busd/internal/load"
)

// peer is the bus that the ratios are to.
const peer = buses.Broker

// shown are all figures in the order of the table.
var shown = []string{wall, cpu, load.P50, load.P99, load.AllP50, load.PeakMemory, load.IdleMemory, load.HelperMemory, load.PerConnection}

// cell is one figure of one workload on one bus.
type cell struct {
	workload string
	kind     buses.Kind
	figure   string
}

// table gathers all runs.
type table struct {
	kinds  []buses.Kind
	values map[cell][]float64
	failed map[cell][]error // figure is empty
}

func newTable(kinds []buses.Kind) *table {
	return &table{kinds: kinds, values: map[cell][]float64{}, failed: map[cell][]error{}}
}

// add takes one run; what a failed one has measured counts nowhere.
func (t *table) add(workload string, kind buses.Kind, r load.Result, err error) {
	if err != nil {
		at := cell{workload: workload, kind: kind}
		t.failed[at] = append(t.failed[at], err)
		return
	}
	put := func(figure string, value float64) {
		at := cell{workload, kind, figure}
		t.values[at] = append(t.values[at], value)
	}
	put(wall, r.Wall.Seconds()*1e3)
	put(cpu, r.CPU.Seconds()*1e3)
	for figure, value := range r.Figures {
		put(figure, value)
	}
}

// failures is how many runs have failed.
func (t *table) failures() (n int) {
	for _, errs := range t.failed {
		n += len(errs)
	}
	return n
}

func (t *table) print(out io.Writer, workloads []load.Workload) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "workload\tmedian\t")
	for _, kind := range t.kinds {
		fmt.Fprintf(w, "%s\t", kind)
		if kind != peer {
			fmt.Fprint(w, "ratio\t")
		}
	}
	fmt.Fprintln(w, "at most\ttarget\t")
	for _, workload := range workloads {
		for _, figure := range shown {
			t.line(w, workload.Name, figure)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, workload := range workloads {
		for _, kind := range t.kinds {
			if errs := t.failed[cell{workload: workload.Name, kind: kind}]; len(errs) > 0 {
				fmt.Fprintf(out, "%s on %s: %d of the runs failed, the first: %v\n", workload.Name, kind, len(errs), errs[0])
			}
		}
	}
	return nil
}

// line prints one figure of one workload, when any bus has it.
func (t *table) line(w io.Writer, workload, figure string) {
	has := func(kind buses.Kind) bool { return len(t.values[cell{workload, kind, figure}]) > 0 }
	if !slices.ContainsFunc(t.kinds, has) {
		return
	}
	its, _ := t.median(workload, peer, figure)
	fmt.Fprintf(w, "%s\t%s\t", workload, figure)
	for _, kind := range t.kinds {
		value, ok := t.median(workload, kind, figure)
		fmt.Fprintf(w, "%s\t", number(value, ok))
		if kind != peer {
			fmt.Fprintf(w, "%s\t", quotient(value, its))
		}
	}
	fmt.Fprintln(w, t.verdict(workload, figure))
}

// verdict says what busd aims at and whether it is there.
func (t *table) verdict(workload, figure string) string {
	aim, ok := targets[workload][figure]
	if !ok {
		return "-\t-\t"
	}
	value, ok := t.median(workload, buses.Busd, figure)
	most := number(aim.most, true)
	if !aim.own {
		its, _ := t.median(workload, peer, figure)
		most = fmt.Sprintf("%.2f", aim.most)
		ok = ok && its > 0
		value /= its
	}
	switch {
	case !ok:
		return most + "\t-\t"
	case value > aim.most:
		return most + "\tmissed\t"
	}
	return most + "\theld\t"
}

// median is of all runs that did not fail.
func (t *table) median(workload string, kind buses.Kind, figure string) (float64, bool) {
	values := slices.Sorted(slices.Values(t.values[cell{workload, kind, figure}]))
	n := len(values)
	if n == 0 {
		return 0, false
	}
	return (values[(n-1)/2] + values[n/2]) / 2, true
}

// quotient is value by that of the peer.
func quotient(value, its float64) string {
	if value == 0 || its == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", value/its)
}

// number shows a figure in at least three digits.
func number(value float64, ok bool) string {
	switch {
	case !ok:
		return "-"
	case value < 100:
		return strconv.FormatFloat(value, 'f', 1, 64)
	}
	return strconv.FormatFloat(value, 'f', 0, 64)
}
