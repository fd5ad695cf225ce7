package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// message is one object of govulncheck's JSON stream; the fields that matter.
type message struct {
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *finding `json:"finding"`
}

// finding is one way in which one module of ours meets a vulnerability. Its
// trace begins at the vulnerable symbol, package or module; only a symbol that
// our code calls has a function.
type finding struct {
	OSV   string  `json:"osv"`
	Fixed string  `json:"fixed_version"`
	Trace []frame `json:"trace"`
}

type frame struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Package  string `json:"package"`
	Function string `json:"function"`
}

// stdlib is what the database calls Go's standard library.
const stdlib = "stdlib"

// vulnerability is what is known about one OSV identifier in one module that
// has it: net/http and golang.org/x/net can share one.
type vulnerability struct {
	id, summary   string
	module        string
	found, fixed  string
	in            []string // our modules that reach it
	example       string   // one of the symbols that they reach
	onlyMentioned bool     // nothing of ours calls it
}

// report collects what the scans of all modules found. Its zero value is ready.
type report struct {
	modules   int
	summaries map[string]string
	found     map[string]*vulnerability // by identifier and module
}

// read adds the scan of our module in dir.
func (r *report) read(dir string, stream io.Reader) error {
	if r.found == nil {
		r.found, r.summaries = map[string]*vulnerability{}, map[string]string{}
	}
	r.modules++
	d := json.NewDecoder(stream)
	for {
		var m message
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read govulncheck's output: %w", err)
		}
		if m.OSV != nil {
			r.summaries[m.OSV.ID] = m.OSV.Summary
		}
		if m.Finding != nil && len(m.Finding.Trace) > 0 {
			r.add(dir, m.Finding)
		}
	}
}

func (r *report) add(dir string, f *finding) {
	at := f.Trace[0]
	key := f.OSV + " " + at.Module
	v := r.found[key]
	if v == nil {
		v = &vulnerability{id: f.OSV, module: at.Module, onlyMentioned: true}
		r.found[key] = v
	}
	if at.Function == "" {
		return
	}
	v.onlyMentioned = false
	v.found, v.fixed, v.example = at.Version, f.Fixed, at.Package+"."+at.Function
	if !slices.Contains(v.in, dir) {
		v.in = append(v.in, dir)
	}
}

// errReachable says that a required module has to be upgraded.
var errReachable = errors.New("our code reaches known vulnerabilities in modules that it requires")

// judge prints what was found and returns errReachable when it must be cured
// in this repository.
func (r *report) judge(out io.Writer) error {
	mentioned, std, ours := 0, 0, 0
	for _, key := range slices.Sorted(maps.Keys(r.found)) {
		v := r.found[key]
		v.summary = strings.Join(strings.Fields(r.summaries[v.id]), " ")
		switch {
		case v.onlyMentioned:
			mentioned++
			continue
		case v.module == stdlib:
			std++
			fmt.Fprintf(out, "Go itself: %s\n", v)
		default:
			ours++
			fmt.Fprintf(out, "UPGRADE: %s; %s calls %s\n", v, strings.Join(v.in, ", "), v.example)
		}
	}
	fmt.Fprintf(out, "vulnerabilities in %d modules: %d reachable in required modules, %d reachable in Go's standard library (a newer Go cures them), %d not reachable\n",
		r.modules, ours, std, mentioned)
	if ours > 0 {
		return errReachable
	}
	return nil
}

func (v *vulnerability) String() string {
	fixed := "not fixed yet"
	if v.fixed != "" {
		fixed = "fixed in " + v.fixed
	}
	return fmt.Sprintf("%s %s: %s@%s, %s", v.id, v.summary, v.module, v.found, fixed)
}
