// Command boundaries holds the repository to its shape: which package may
// import which, which module may require which, one package comment for each
// package, and no source file longer than a person reads at once.
//
// The table is rules.go. Every .go file under the root is parsed, whatever its
// build tags say, in every module, so nothing hides behind `-tags fault` or
// outside go.work. The command prints one finding a line, with the rule's
// reason, and exits 1 when there is one.
//
// It reads syntax only: it does not build, type-check or download anything,
// and it cannot see an import that a build tool would add.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	root := flag.String("root", ".", "the folder that holds go.work")
	flag.Parse()
	os.Exit(run(*root, os.Stdout, os.Stderr))
}

// run checks the tree at root and returns the exit code: 0 when it is clean,
// 1 when there are findings, 2 when the tree could not be read.
func run(root string, out, errs io.Writer) int {
	t, err := load(root)
	if err != nil {
		fmt.Fprintln(errs, "boundaries:", err)
		return 2
	}
	if len(t.modules) == 0 {
		fmt.Fprintf(errs, "boundaries: no go.mod under %s\n", root)
		return 2
	}
	found := check(t, rules)
	for _, f := range found {
		fmt.Fprintln(out, f)
	}
	if len(found) > 0 {
		fmt.Fprintf(errs, "boundaries: %d findings\n", len(found))
		return 1
	}
	return 0
}
