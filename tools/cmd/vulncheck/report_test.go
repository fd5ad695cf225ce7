package main

import (
	"errors"
	"strings"
	"testing"
)

// As govulncheck writes it: the vulnerability, then a finding for the module,
// for the package and for the symbol, as far as each is met.
const (
	stdCalled = `{"osv":{"id":"GO-1","summary":"Server crash\nin net/http"}}
{"finding":{"osv":"GO-1","fixed_version":"v1.26.9","trace":[{"module":"stdlib","version":"v1.26.8"}]}}
{"finding":{"osv":"GO-1","fixed_version":"v1.26.9","trace":[{"module":"stdlib","version":"v1.26.8","package":"net/http","function":"Do"},{"module":"quartet/kit"}]}}
`
	moduleCalled = `{"osv":{"id":"GO-2","summary":"Panic in parser"}}
{"finding":{"osv":"GO-2","fixed_version":"v1.4.1","trace":[{"module":"example.com/m","version":"v1.4.0","package":"example.com/m/p","function":"Parse"}]}}
`
	sharedCalled = `{"finding":{"osv":"GO-1","trace":[{"module":"golang.org/x/net","version":"v0.1.0","package":"golang.org/x/net/http2","function":"Do"}]}}
`
	moduleImported = `{"osv":{"id":"GO-3","summary":"Leak"}}
{"finding":{"osv":"GO-3","trace":[{"module":"example.com/n","version":"v1.0.0","package":"example.com/n"}]}}
`
)

func TestOnlyReachableFindingsInRequiredModulesFail(t *testing.T) {
	cases := []struct {
		name, stream string
		want         string
		fails        bool
	}{
		{"nothing", `{"config":{}}`, "0 reachable in required modules, 0 reachable in Go's standard library (a newer Go cures them), 0 not", false},
		{"the standard library", stdCalled,
			"Go itself: GO-1 Server crash in net/http: stdlib@v1.26.8, fixed in v1.26.9\n", false},
		{"a required module", moduleCalled,
			"UPGRADE: GO-2 Panic in parser: example.com/m@v1.4.0, fixed in v1.4.1; services/botd calls example.com/m/p.Parse", true},
		{"not called", moduleImported, "1 not reachable", false},
		{"one that both share", stdCalled + sharedCalled + stdCalled,
			"1 reachable in required modules, 1 reachable in Go's standard library", true},
		{"all", stdCalled + moduleCalled + moduleImported,
			"1 reachable in required modules, 1 reachable in Go's standard library (a newer Go cures them), 1 not reachable", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var r report
			if err := r.read("services/botd", strings.NewReader(c.stream)); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := r.judge(&out); errors.Is(err, errReachable) != c.fails {
				t.Errorf("error %v, want one: %v", err, c.fails)
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("got  %s\nwant %s", out.String(), c.want)
			}
		})
	}
}

func TestEveryModuleThatReachesItIsNamed(t *testing.T) {
	var r report
	for _, dir := range []string{"kit", "sim"} {
		if err := r.read(dir, strings.NewReader(moduleCalled)); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	r.judge(&out)
	if !strings.Contains(out.String(), "kit, sim calls") {
		t.Errorf("got %s", out.String())
	}
}

func TestBrokenStreamIsAnError(t *testing.T) {
	var r report
	if err := r.read("kit", strings.NewReader(`{"finding":`)); err == nil {
		t.Error("no error for half a message")
	}
}
