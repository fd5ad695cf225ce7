package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// group is one benchmark function with its variants, in the order in which
// they ran.
type group struct {
	pkg      string
	name     string // without "Benchmark"; parameters behind the variant are part of it
	variants []*variant
}

// variant is one sub-benchmark.
type variant struct {
	name    string
	runs    int
	figures map[string][]float64 // of each run, by unit, such as "ns/op"
}

// procs is what go test puts behind a name: GOMAXPROCS.
var procs = regexp.MustCompile(`-\d+$`)

func parse(in io.Reader) ([]*group, error) {
	var groups []*group
	pkg := ""
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if p, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = p
		}
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
			return nil, fmt.Errorf("the run failed: %s", line)
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		values, err := figures(fields[2:])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		group, name := split(strings.TrimPrefix(procs.ReplaceAllString(fields[0], ""), "Benchmark"))
		groups = enter(groups, pkg, group, name, values)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return nil, errors.New("no benchmark ran")
	}
	return groups, nil
}

// split takes the variant out of Function/variant/parameters.
func split(name string) (group, variant string) {
	function, rest, _ := strings.Cut(name, "/")
	variant, parameters, ok := strings.Cut(rest, "/")
	if ok {
		function += "/" + parameters
	}
	return function, variant
}

// figures reads "12.5 ns/op 0 B/op".
func figures(fields []string) (map[string]float64, error) {
	values := map[string]float64{}
	for i := 0; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return nil, err
		}
		values[fields[i+1]] = v
	}
	return values, nil
}

func enter(groups []*group, pkg, name, variantName string, values map[string]float64) []*group {
	var g *group
	for _, known := range groups {
		if known.pkg == pkg && known.name == name {
			g = known
		}
	}
	if g == nil {
		g = &group{pkg: pkg, name: name}
		groups = append(groups, g)
	}
	var v *variant
	for _, known := range g.variants {
		if known.name == variantName {
			v = known
		}
	}
	if v == nil {
		v = &variant{name: variantName, figures: map[string][]float64{}}
		g.variants = append(g.variants, v)
	}
	v.runs++
	for unit, value := range values {
		v.figures[unit] = append(v.figures[unit], value)
	}
	return groups
}

// ours reports whether a variant of g measures this repository's code.
func (g *group) ours(v *variant) bool {
	return v.name == "quartet" || strings.HasPrefix(v.name, "quartet-") || v.name == path.Base(g.pkg)
}
