// Command benchtable reads the output of `go test -bench` and prints each
// group of benchmarks as a table: the cheapest of the repeated runs, by
// processor time where the benchmark reports it, and how ours stands to every
// peer that was measured beside it.
//
// A group is a benchmark function; its variants are its sub-benchmarks. Ours
// are called quartet, quartet-something, or as their package's folder; all
// others are peers. A ratio below 1 means that ours costs less.
//
// The minimum is the right figure for the cost of code: noise only adds. It
// says nothing about tail latency. What else a benchmark reports, such as
// replies/s or a percentile, is shown as the median of the runs. The command
// fails when there is no benchmark in its input, or a FAIL line.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	groups, err := parse(in)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := g.print(out); err != nil {
			return err
		}
	}
	return nil
}
