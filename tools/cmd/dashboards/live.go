package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"quartet/tools/internal/dash"
	"quartet/tools/internal/live"
	"quartet/tools/internal/sheet"
)

// liveFlags are those of `dashboards live`.
type liveFlags struct {
	quartet, prometheus string
	ports               int
	calm                time.Duration
	update              bool
	sheets, picture     string
}

func parseLive(args []string, out io.Writer) (liveFlags, error) {
	var f liveFlags
	set := flag.NewFlagSet("dashboards live", flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&f.quartet, "quartet", "bin/quartet", "the launcher, with the other programs beside it")
	set.StringVar(&f.prometheus, "prometheus", "prometheus", "the Prometheus to run")
	set.IntVar(&f.ports, "ports", 23000, "a row of six free ports begins here")
	set.DurationVar(&f.calm, "calm", 60*time.Second, "how long people ask while nothing is wrong")
	set.BoolVar(&f.update, "update", false, "write "+catalogueFile+" anew, instead of comparing it")
	set.StringVar(&f.sheets, "sheets", "_artifacts", "folder for a picture of each board")
	set.StringVar(&f.picture, "picture", "", "file for the picture of docs: where the time of a picture command goes")
	return f, set.Parse(args)
}

// runLive runs the system, asks everything, and draws what came.
func runLive(ctx context.Context, root string, args []string, out io.Writer) error {
	f, err := parseLive(args, out)
	if err != nil {
		return err
	}
	all, err := committed(root)
	if err != nil {
		return err
	}
	rules, err := ruleFiles(root)
	if err != nil {
		return err
	}
	run, err := live.Start(ctx, live.Options{Quartet: filepath.Join(root, f.quartet), Prometheus: f.prometheus, Rules: rules, Ports: f.ports, Calm: f.calm,
		Say: func(what string) { fmt.Fprintln(out, what) }})
	if err != nil {
		return err
	}
	defer run.Close()
	faults, known, err := checkExported(ctx, root, run, f.update)
	if err != nil {
		return err
	}
	for _, b := range all {
		faults = append(faults, dash.Lint(b, known)...)
		found, err := run.Queries(ctx, b)
		if err != nil {
			return err
		}
		faults = append(faults, found...)
	}
	found, err := checkRules(ctx, root, run, known)
	if err != nil {
		return err
	}
	faults = append(faults, found...)
	if err := draw(ctx, root, run, all, f); err != nil {
		return err
	}
	if err := report(faults, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "every query of %d dashboards found something; pictures of them are in %s\n", len(all), f.sheets)
	return nil
}

func ruleFiles(root string) ([]string, error) {
	var all []string
	for _, dir := range []string{"rules", "alerts"} {
		names, err := filepath.Glob(filepath.Join(root, "deploy/prometheus", dir, "*.yml"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			path, err := filepath.Abs(name)
			if err != nil {
				return nil, err
			}
			all = append(all, path)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no rules below deploy/prometheus")
	}
	return all, nil
}

// checkExported compares what is exported with the list of it, or writes that.
func checkExported(ctx context.Context, root string, run *live.Run, update bool) ([]string, dash.Catalogue, error) {
	all, err := run.Exported(ctx)
	if err != nil {
		return nil, nil, err
	}
	exported := all.Ours()
	if update {
		return nil, exported, writeCatalogue(root, exported)
	}
	listed, err := readCatalogue(root)
	if err != nil {
		return nil, nil, err
	}
	var faults []string
	for _, line := range listed.Lacks(exported) {
		faults = append(faults, catalogueFile+": lacks what is exported: "+line+" (dashboards live -update)")
	}
	for _, line := range exported.Lacks(listed) {
		faults = append(faults, catalogueFile+": nobody exports "+line)
	}
	return faults, exported, nil
}

func writeCatalogue(root string, c dash.Catalogue) error {
	var b bytes.Buffer
	b.WriteString("# What services export: each metric and its type, as a scrape of the running\n# system showed them. Made by `bin/dashboards live -update`.\n")
	if err := c.Write(&b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, catalogueFile), b.Bytes(), 0o644)
}

// checkRules holds the rules to what is exported, and alerts to what people need.
func checkRules(ctx context.Context, root string, run *live.Run, known dash.Catalogue) ([]string, error) {
	rules, err := run.Rules(ctx)
	if err != nil {
		return nil, err
	}
	runbooks, err := os.ReadFile(filepath.Join(root, runbooksFile))
	if err != nil {
		return nil, err
	}
	tests, err := testsText(root)
	if err != nil {
		return nil, err
	}
	recorded := dash.Catalogue{}
	for name, kind := range known {
		recorded[name] = kind
	}
	for _, r := range rules {
		if r.Type == "recording" {
			recorded[r.Name] = "gauge"
		}
	}
	var faults []string
	for _, r := range rules {
		faults = append(faults, live.Faults(r, recorded, string(runbooks), tests)...)
		nothing, err := run.Matches(ctx, r, known)
		if err != nil {
			return nil, err
		}
		faults = append(faults, nothing...)
	}
	return faults, nil
}

func testsText(root string) (string, error) {
	names, err := filepath.Glob(filepath.Join(root, alertTests))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	return all.String(), nil
}

// draw makes a picture of each board, and the one of docs.
func draw(ctx context.Context, root string, run *live.Run, all []dash.Board, f liveFlags) error {
	dir := filepath.Join(root, f.sheets)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, b := range all {
		if err := sheet.Draw(ctx, filepath.Join(dir, b.UID+".png"), b, run, run.Whole, nil); err != nil {
			return err
		}
		if f.picture != "" && b.UID == "quartet-time" {
			if err := sheet.Draw(ctx, filepath.Join(root, f.picture), b, run, run.Calm, live.Choice{"operation": "kot"}); err != nil {
				return err
			}
		}
	}
	return nil
}
