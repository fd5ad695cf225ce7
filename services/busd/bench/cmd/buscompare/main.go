// Command buscompare puts the workloads on busd, dbus-daemon and dbus-broker
// and prints medians, their ratios to dbus-broker's, and how busd stands to
// what it aims at:
//
//	go run ./bench/cmd/buscompare -r 7 -w broadcast,rtt
//
// Each run has a fresh bus, with the session.conf that is installed where the
// bus takes one. The buses take turns: who is first in one round is last in
// the next. A message that is lost, or a connection, is a failure: it is
// named, and the exit code is 1. A target that was missed is not: on a shared
// machine one comparison proves little.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"quartet/services/busd/internal/buses"
	"quartet/services/busd/internal/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	buses.Clean()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "buscompare:", err)
		os.Exit(1)
	}
}

// plan is what the command line asks for.
type plan struct {
	rounds    int
	workloads []load.Workload
	kinds     []buses.Kind
	busd      string // the binary; empty is the one built from the tree
	size      load.Size
	runs      string // a file for every run as a line of JSON; may be empty
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	p, err := read(args, progress)
	if err != nil {
		return err
	}
	runs := io.Discard
	if p.runs != "" {
		file, err := os.Create(p.runs)
		if err != nil {
			return err
		}
		defer file.Close()
		runs = file
	}
	load.Prepare()
	t := newTable(p.kinds)
	for round := range p.rounds {
		for _, w := range p.workloads {
			for i := range p.kinds {
				if err := ctx.Err(); err != nil {
					return err
				}
				kind := p.kinds[(i+round)%len(p.kinds)]
				r, err := p.once(kind, w)
				if err != nil {
					fmt.Fprintln(progress, err)
				}
				t.add(w.Name, kind, r, err)
				if err := record(runs, round, w.Name, kind, r, err); err != nil {
					return err
				}
			}
		}
		fmt.Fprintf(progress, "round %d of %d\n", round+1, p.rounds)
	}
	if err := t.print(out, p.workloads); err != nil {
		return err
	}
	if n := t.failures(); n > 0 {
		return fmt.Errorf("%d runs have failed", n)
	}
	return nil
}

// once is one run of a workload on a fresh bus.
func (p plan) once(kind buses.Kind, w load.Workload) (load.Result, error) {
	var o buses.Options
	if kind == buses.Busd {
		o.Binary = p.busd
	}
	bus, err := buses.Start(kind, o)
	if err != nil {
		return load.Result{}, err
	}
	r, err := w.Run(bus, p.size)
	return r, errors.Join(err, bus.Stop())
}

// record writes one run as a line of JSON.
func record(to io.Writer, round int, workload string, kind buses.Kind, r load.Result, failed error) error {
	line := struct {
		Round    int
		Workload string
		Bus      buses.Kind
		load.Result
		Failure string `json:",omitempty"`
	}{Round: round + 1, Workload: workload, Bus: kind, Result: r}
	if failed != nil {
		line.Failure = failed.Error()
	}
	return json.NewEncoder(to).Encode(line)
}

// read makes a plan of the command line.
func read(args []string, usage io.Writer) (p plan, err error) {
	var names []string
	for _, w := range load.Workloads {
		names = append(names, w.Name)
	}
	fs := flag.NewFlagSet("buscompare", flag.ContinueOnError)
	fs.SetOutput(usage)
	fs.IntVar(&p.rounds, "r", 7, "rounds")
	fs.IntVar(&p.size.Count, "n", 0, "operations of a run, in place of the workload's")
	fs.IntVar(&p.size.Peers, "k", 0, "connections or calls in flight, in place of the workload's")
	fs.StringVar(&p.busd, "busd", "", "a busd to run in place of the one in this tree")
	fs.StringVar(&p.runs, "o", "", "a file for every run as a line of JSON")
	workloads := fs.String("w", strings.Join(names, ","), "workloads")
	kinds := fs.String("buses", "dbus-broker,dbus-daemon,busd", "buses")
	fs.Usage = func() {
		fmt.Fprintln(usage, "buscompare [flags]: compare message buses")
		fs.PrintDefaults()
		for _, w := range load.Workloads {
			fmt.Fprintf(usage, "  %-10s %6d  %s\n", w.Name, w.Size.Count, w.What)
		}
	}
	if err := fs.Parse(args); err != nil {
		return p, err
	}
	if fs.NArg() > 0 || p.rounds < 1 {
		return p, errors.New("it takes flags only, and one round at least: see -help")
	}
	for name := range strings.SplitSeq(*workloads, ",") {
		w, err := load.Named(name)
		if err != nil {
			return p, fmt.Errorf("%w, but %s are", err, strings.Join(names, ", "))
		}
		p.workloads = append(p.workloads, w)
	}
	for name := range strings.SplitSeq(*kinds, ",") {
		kind := buses.Kind(name)
		if !slices.Contains(buses.Kinds, kind) {
			return p, fmt.Errorf("no bus is called %q, but %v are", name, buses.Kinds)
		}
		p.kinds = append(p.kinds, kind)
	}
	return p, nil
}
