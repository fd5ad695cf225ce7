package suites

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// verdict is what a test program says of a case.
type verdict string

const (
	passed  verdict = "ok"
	skipped verdict = "skipped"
	failed  verdict = "not ok"
)

// tap reads the Test Anything Protocol: a verdict for each case, by its name.
// A case that was never reached has none.
func tap(output string) map[string]verdict {
	cases := map[string]verdict{}
	for line := range strings.Lines(output) {
		v := passed
		rest, found := strings.CutPrefix(line, "ok ")
		if !found {
			v = failed
			if rest, found = strings.CutPrefix(line, "not ok "); !found {
				continue
			}
		}
		rest, directive, _ := strings.Cut(rest, " # ")
		name := strings.TrimSpace(rest)
		number, described, _ := strings.Cut(name, " ")
		if strings.Trim(number, "0123456789") == "" && described != "" {
			name = strings.TrimPrefix(described, "- ")
		}
		if directive = strings.ToUpper(directive); v == passed && (strings.HasPrefix(directive, "SKIP") || strings.HasPrefix(directive, "TODO")) {
			v = skipped
		}
		cases[name] = v
	}
	return cases
}

// worse lists the cases that are ok in the one and not in the other.
func worse(reference, ours map[string]verdict) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(reference)) {
		if reference[name] == passed && ours[name] != passed {
			names = append(names, name)
		}
	}
	return names
}

func TestTAPIsRead(t *testing.T) {
	got := tap(`# random seed: R02S
1..6
ok 1 /a/b
not ok 2 /c
ok 3 /d # SKIP not here
ok 4 - with stdin closed
ok 5 /e # TODO later
ok 6
# ok 7 /f
Bail out!
`)
	want := map[string]verdict{"/a/b": passed, "/c": failed, "/d": skipped, "with stdin closed": passed, "/e": skipped, "6": passed}
	if !maps.Equal(got, want) {
		t.Errorf("cases %v", got)
	}
	ours := map[string]verdict{"/a/b": skipped, "/c": failed, "6": passed}
	if got := worse(want, ours); !slices.Equal(got, []string{"/a/b", "with stdin closed"}) {
		t.Errorf("worse are %v", got)
	}
}
