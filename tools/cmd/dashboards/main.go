// Command dashboards makes the Grafana dashboards and proves that they show
// something. `make dashboards` does all of it:
//
//	dashboards generate    writes deploy/grafana/dashboards from the Go code
//	dashboards check       what can be checked without running anything
//	dashboards live        runs the system and a real Prometheus, and asks every query
//
// There is no Grafana in it: that a board is what Grafana takes is checked
// against its published schema, that it shows something by asking what its
// panels ask. The pictures that live leaves are drawn by this tool, for people
// to look at.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"quartet/tools/internal/boards"
	"quartet/tools/internal/dash"
)

// errUsage is what a wrong command line gets.
var errUsage = errors.New(`usage, in the root of the repository: dashboards generate | check | live [flags]; "dashboards live -help" lists its flags`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, ".", os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "generate":
		return generate(root)
	case "check":
		return check(root, out)
	case "live":
		return runLive(ctx, root, args[1:], out)
	}
	return errUsage
}

// Where things are, from the root of the repository.
const (
	boardsDir     = "deploy/grafana/dashboards"
	catalogueFile = "deploy/prometheus/metrics.txt"
	runbooksFile  = "docs/runbooks.md"
	alertTests    = "deploy/prometheus/tests/*.yml"
)

func generate(root string) error {
	files, err := boards.All()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, boardsDir), 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(root, boardsDir, f.Name), f.JSON, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// check says everything that is wrong, and fails when something is.
func check(root string, out io.Writer) error {
	known, err := readCatalogue(root)
	if err != nil {
		return err
	}
	faults, err := stale(root)
	if err != nil {
		return err
	}
	all, err := committed(root)
	if err != nil {
		return err
	}
	for _, b := range all {
		faults = append(faults, dash.Lint(b, known)...)
	}
	if err := report(faults, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d dashboards are what the code makes, what Grafana's schema allows, and keep the rules\n", len(all))
	return nil
}

// report prints faults and makes one error of them.
func report(faults []string, out io.Writer) error {
	for _, f := range faults {
		fmt.Fprintln(out, f)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d faults", len(faults))
	}
	return nil
}

// stale lists the committed files that are not what the code makes.
func stale(root string) ([]string, error) {
	want, err := boards.All()
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(root, boardsDir, "*.json"))
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, f := range want {
		path := filepath.Join(root, boardsDir, f.Name)
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, f.JSON) {
			faults = append(faults, f.Name+": is not what the code makes: run make dashboards and commit it")
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == path })
	}
	for _, name := range names {
		faults = append(faults, filepath.Base(name)+": no code makes it: delete it")
	}
	return faults, nil
}

// committed reads the boards, as strictly as Grafana's schema allows.
func committed(root string) ([]dash.Board, error) {
	names, err := filepath.Glob(filepath.Join(root, boardsDir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no dashboard in %s: run this in the root of the repository", boardsDir)
	}
	var all []dash.Board
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if _, err := boards.Decode(text); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		b, err := dash.Read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		if want := b.UID + ".json"; filepath.Base(name) != want {
			return nil, fmt.Errorf("%s: its uid wants the name %s", filepath.Base(name), want)
		}
		all = append(all, b)
	}
	return all, nil
}

func readCatalogue(root string) (dash.Catalogue, error) {
	text, err := os.ReadFile(filepath.Join(root, catalogueFile))
	if err != nil {
		return nil, err
	}
	return dash.ReadCatalogue(strings.NewReader(string(text)))
}
