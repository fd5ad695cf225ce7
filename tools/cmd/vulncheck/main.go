// Command vulncheck looks for known vulnerabilities that the repository's code
// can reach: govulncheck with the database as one pinned module, which is
// fetched from the Go module proxy once. Nobody is asked after that.
//
// What it does with a finding:
//
//   - reachable, in a module that we require: it fails. The cure is the fixed
//     version that it prints; there is no list of exceptions.
//   - reachable, in Go's standard library: it prints the Go version that cures
//     it, and does not fail. Which Go builds a checkout is its machine's choice,
//     not something a commit can change.
//   - in code that ours does not call: it counts it, and does not fail. Known
//     and unreachable needs no hurry; the next upgrade takes it along.
//
// The pin goes stale: raising it (vulndb below) is part of every upgrade of
// dependencies.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// vulndb is the database of Go vulnerabilities, as of its version's date.
const vulndb = "golang.org/x/vulndb@v0.0.0-20261105234957-e22db6528018"

func main() {
	govulncheck := flag.String("govulncheck", "bin/govulncheck", "the govulncheck program, as make tools builds it")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: vulncheck [-govulncheck PROGRAM] MODULE-FOLDER...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*govulncheck, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(1)
	}
}

func run(govulncheck string, modules []string, out io.Writer) error {
	program, err := filepath.Abs(govulncheck)
	if err != nil {
		return err
	}
	db, err := database()
	if err != nil {
		return err
	}
	var all report
	for _, dir := range modules {
		stream, err := scan(program, db, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		if err := all.read(dir, bytes.NewReader(stream)); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return all.judge(out)
}

// database fetches the pinned module and returns the URL of its files.
func database() (string, error) {
	var errs bytes.Buffer
	cmd := exec.Command("go", "mod", "download", "-json", vulndb)
	cmd.Stderr = &errs
	text, err := cmd.Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(text, &module); jsonErr != nil {
		return "", errors.Join(fmt.Errorf("fetch %s: %w", vulndb, err), errors.New(errs.String()))
	}
	if module.Error != "" {
		return "", fmt.Errorf("fetch the database, once for each pin, from the Go module proxy (is there a network?): %s", module.Error)
	}
	return "file://" + filepath.ToSlash(filepath.Join(module.Dir, "data", "osv")), err
}

// scan runs govulncheck on one module, by itself, as it is built and released.
func scan(program, db, dir string) ([]byte, error) {
	var errs bytes.Buffer
	cmd := exec.Command(program, "-json", "-db", db, "./...")
	cmd.Dir, cmd.Stderr = dir, &errs
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("govulncheck: %w\n%s", err, errs.String())
	}
	return out, nil
}
