package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// finding is one breach, printed as file:line: what (rule: reason).
type finding struct {
	file string
	line int
	what string
	rule string
	why  string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s\n\trule %q: %s", f.file, f.line, f.what, f.rule, f.why)
}

// check holds the tree against the table, the package comments and the sizes.
func check(t *tree, table []rule) []finding {
	var found []finding
	for _, r := range table {
		for _, m := range t.modules {
			if matchAny(r.from, m.path) {
				found = append(found, r.requirements(m)...)
			}
		}
		for _, f := range t.files {
			if r.holds(f) {
				found = append(found, r.file(f)...)
			}
		}
	}
	found = append(found, comments(t.files)...)
	found = append(found, sizes(t.files)...)
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return found
}

// holds reports whether f is subject to the rule.
func (r rule) holds(f file) bool {
	if f.test && !r.tests || f.pkgName == "main" && !r.mains {
		return false
	}
	return matchAny(r.from, f.pkg)
}

func (r rule) requirements(m module) []finding {
	var found []finding
	for _, req := range m.requires {
		if matchAny(r.never, req.path) {
			found = append(found, r.finding(m.file, req, m.path+" requires "+req.path))
		}
	}
	return found
}

func (r rule) file(f file) []finding {
	var found []finding
	for _, imp := range f.imports {
		if r.ownModule && (imp.path == f.module || strings.HasPrefix(imp.path, f.module+"/")) {
			continue
		}
		if matchAny(r.never, imp.path) || len(r.only) > 0 && !matchAny(r.only, imp.path) {
			found = append(found, r.finding(f.name, imp, f.pkg+" imports "+imp.path))
		}
	}
	for _, use := range f.uses {
		if slices.Contains(r.calls, use.path) {
			found = append(found, r.finding(f.name, use, f.pkg+" uses "+use.path))
		}
	}
	return found
}

func (r rule) finding(file string, at imported, what string) finding {
	return finding{file, at.line, what, r.name, r.why}
}

// comments finds packages without a package comment or with more than one. A
// folder of tests alone carries it in one of its tests.
func comments(files []file) []finding {
	type key struct{ pkg, name string }
	sources := map[key][]file{}
	for _, f := range files {
		sources[key{f.pkg, f.pkgName}] = append(sources[key{f.pkg, f.pkgName}], f)
	}
	var found []finding
	for k, all := range sources {
		counted := slices.DeleteFunc(slices.Clone(all), func(f file) bool { return f.test })
		if len(counted) == 0 {
			if base, ok := strings.CutSuffix(k.name, "_test"); ok && sources[key{k.pkg, base}] != nil {
				continue // the external tests of a package that has its own comment
			}
			counted = all
		}
		var in []string
		for _, f := range counted {
			if f.comment {
				in = append(in, path.Base(f.name))
			}
		}
		if len(in) == 1 {
			continue
		}
		what := "package " + k.name + " has no package comment"
		if len(in) > 1 {
			what = "package " + k.name + " has several package comments: " + strings.Join(in, ", ")
		}
		found = append(found, finding{counted[0].name, 1, what, "one package comment",
			"it says what the package is for, what it guarantees and what it does not do, in one place"})
	}
	return found
}

// sizes finds source files that are too long. Tests and generated files may be.
func sizes(files []file) []finding {
	var found []finding
	for _, f := range files {
		if f.test || f.generated || f.lines <= maxLines {
			continue
		}
		found = append(found, finding{f.name, f.lines,
			fmt.Sprintf("%d lines, more than %d", f.lines, maxLines),
			"file size", "a file is one thing a person reads at once; split it by stage or by type"})
	}
	return found
}

// matchAny reports whether p matches one of the patterns.
func matchAny(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return match(pattern, p) })
}

// match is Go's package patterns, plus * for one element and std.
func match(pattern, p string) bool {
	if pattern == "std" {
		return isStd(p)
	}
	prefix, tree := strings.CutSuffix(pattern, "/...")
	want, have := strings.Split(prefix, "/"), strings.Split(p, "/")
	if len(have) < len(want) || !tree && len(have) != len(want) {
		return false
	}
	for i, w := range want {
		if w != "*" && w != have[i] {
			return false
		}
	}
	return true
}

// isStd tells the standard library by its paths: their first element has no
// dot, and it is not ours.
func isStd(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".") && first != "quartet"
}
