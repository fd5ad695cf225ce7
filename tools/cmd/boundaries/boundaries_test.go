package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// clean is a small tree that every rule is content with. The cases below add
// or replace files in it.
const clean = `
-- kit/go.mod --
module quartet/kit
-- kit/budget/budget.go --
// Package budget bounds.
package budget

import "context"

var _ context.Context
-- kit/budget/budget_test.go --
package budget_test

import (
	"testing"

	"go.uber.org/goleak"
	"quartet/kit/lockmap"
)
-- kit/lockmap/lockmap.go --
// Package lockmap locks.
package lockmap
-- kit/timing/timing.go --
// Package timing times.
package timing

import (
	"go.opentelemetry.io/otel/metric"
	"quartet/kit/budget"
)
-- kit/timing/timing_test.go --
package timing_test

import "go.opentelemetry.io/otel/sdk/metric"
-- kit/telemetry/telemetry.go --
// Package telemetry exports.
package telemetry

import "go.opentelemetry.io/otel/sdk/metric"
-- services/botd/go.mod --
module quartet/services/botd

require quartet/kit v0.0.0
-- services/botd/cmd/botd/main.go --
// Command botd answers.
package main

import (
	"quartet/kit/telemetry"
	"quartet/services/botd/internal/envelope"
)
-- services/botd/internal/envelope/envelope.go --
// Package envelope parses.
package envelope

import (
	"encoding/json"
	"time"
)

var _ json.RawMessage
var _ time.Time = time.UnixMilli(0)
-- services/botd/internal/envelope/envelope_test.go --
package envelope

import (
	"os"
	"testing"
)
-- services/signer/go.mod --
module quartet/services/signer
-- services/signer/internal/policy/policy.go --
// Package policy decides.
package policy
-- sim/go.mod --
module quartet/sim
-- sim/cmd/simsignal/main.go --
// Command simsignal plays.
package main
-- cmd/quartet/go.mod --
module quartet/cmd/quartet
-- cmd/quartet/main.go --
// Command quartet starts.
package main
-- e2e/go.mod --
module quartet/e2e
-- e2e/up_test.go --
// Package e2e runs the programs.
package e2e
-- kit/budget/testdata/ignored.go --
this is not Go
`

func TestCleanTreeHasNoFindings(t *testing.T) {
	if got := findings(t, ""); len(got) > 0 {
		t.Errorf("findings in a clean tree:\n%s", strings.Join(got, "\n"))
	}
}

// Each case breaks one rule; the finding must name the file, the import, the
// rule and its reason.
func TestEveryRuleCanFail(t *testing.T) {
	cases := []struct {
		rule string
		add  string
		want string
	}{
		{"kit knows nobody", `
-- kit/budget/bad_test.go --
package budget

import "quartet/services/botd/internal/envelope"
`, "kit/budget/bad_test.go:3: quartet/kit/budget imports quartet/services/botd/internal/envelope"},
		{"kit knows nobody", `
-- kit/go.mod --
module quartet/kit

require quartet/sim v0.0.0
`, "kit/go.mod:3: quartet/kit requires quartet/sim"},
		{"services do not know each other", `
-- services/botd/internal/bot/bot.go --
// Package bot runs.
package bot

import "quartet/services/signer/internal/policy"
`, "services/botd/internal/bot/bot.go:4: quartet/services/botd/internal/bot imports quartet/services/signer/internal/policy"},
		{"services do not know the simulators", `
-- services/botd/cmd/botd/main_test.go --
package main

import "quartet/sim/signal"
`, "services/botd/cmd/botd/main_test.go:3: quartet/services/botd/cmd/botd imports quartet/sim/signal"},
		{"services do not know the simulators", `
-- services/botd/go.mod --
module quartet/services/botd

require (
	quartet/kit v0.0.0
	quartet/sim v0.0.0
)
`, "services/botd/go.mod:5: quartet/services/botd requires quartet/sim"},
		{"simulators do not know the services", `
-- sim/cmd/simsignal/main.go --
// Command simsignal plays.
package main

import "quartet/services/botd/internal/envelope"
`, "sim/cmd/simsignal/main.go:4: quartet/sim/cmd/simsignal imports"},
		{"the launcher and e2e run programs", `
-- e2e/up_test.go --
// Package e2e runs.
package e2e

import "quartet/sim/signal"
`, "e2e/up_test.go:4: quartet/e2e imports quartet/sim/signal"},
		{"the kit's mechanisms stand on the standard library", `
-- kit/lockmap/fault.go --
//go:build fault

package lockmap

import "golang.org/x/sync/semaphore"
`, "kit/lockmap/fault.go:5: quartet/kit/lockmap imports golang.org/x/sync/semaphore"},
		{"the kit's mechanisms stay free of measurement in tests too", `
-- kit/pool/pool_test.go --
// Package pool is tested.
package pool

import "quartet/kit/timing"
`, "kit/pool/pool_test.go:4: quartet/kit/pool imports quartet/kit/timing"},
		{"the power-loss model is for tests", `
-- services/botd/internal/ledger/ledger.go --
// Package ledger keeps.
package ledger

import "quartet/kit/journal/powerloss"
`, "quartet/services/botd/internal/ledger imports quartet/kit/journal/powerloss"},
		{"other buses and load are for tests", `
-- services/busd/go.mod --
module quartet/services/busd
-- services/busd/internal/daemon/daemon.go --
// Package daemon runs a bus.
package daemon

import "quartet/services/busd/internal/buses"
`, "quartet/services/busd/internal/daemon imports quartet/services/busd/internal/buses"},
		{"timing needs the API, not the SDK", `
-- kit/timing/otlp.go --
package timing

import "go.opentelemetry.io/otel/sdk/metric"
`, "kit/timing/otlp.go:3: quartet/kit/timing imports go.opentelemetry.io/otel/sdk/metric"},
		{"only mains set up telemetry", `
-- services/botd/internal/bot/bot.go --
// Package bot runs.
package bot

import "quartet/kit/telemetry"
`, "quartet/services/botd/internal/bot imports quartet/kit/telemetry"},
		{"pure packages", `
-- services/botd/internal/envelope/clock.go --
package envelope

import tm "time"

var start = tm.Now()
`, "services/botd/internal/envelope/clock.go:5: quartet/services/botd/internal/envelope uses time.Now"},
		{"pure packages", `
-- services/botd/internal/envelope/log.go --
package envelope

import "log/slog"
`, "quartet/services/botd/internal/envelope imports log/slog"},
		{"pure packages", `
-- services/botd/internal/envelope/dice.go --
package envelope

import "math/rand/v2"
`, "quartet/services/botd/internal/envelope imports math/rand/v2"},
		{"pure packages", `
-- services/botd/internal/envelope/kit.go --
package envelope

import "quartet/kit/budget"
`, "quartet/services/botd/internal/envelope imports quartet/kit/budget"},
		{"one package comment", `
-- kit/lockmap/lockmap.go --
package lockmap
`, "kit/lockmap/lockmap.go:1: package lockmap has no package comment"},
		{"one package comment", `
-- kit/lockmap/second.go --
// Package lockmap says it twice.
package lockmap
`, "package lockmap has several package comments: lockmap.go, second.go"},
		{"one package comment", `
-- e2e/up_test.go --
package e2e
`, "e2e/up_test.go:1: package e2e has no package comment"},
		{"file size", `
-- kit/lockmap/long.go --
package lockmap
` + strings.Repeat("\n", maxLines), "kit/lockmap/long.go:601: 601 lines, more than 600"},
	}
	covered := map[string]bool{"one package comment": true, "file size": true}
	for _, c := range cases {
		covered[c.rule] = true
		t.Run(c.rule, func(t *testing.T) {
			got := strings.Join(findings(t, c.add), "\n")
			if !strings.Contains(got, c.want) || !strings.Contains(got, "rule \""+c.rule+"\": ") {
				t.Errorf("got:\n%s\nwant a finding of rule %q:\n%s", got, c.rule, c.want)
			}
		})
	}
	for _, r := range rules {
		if !covered[r.name] {
			t.Errorf("no case breaks the rule %q", r.name)
		}
		if r.why == "" {
			t.Errorf("the rule %q gives no reason", r.name)
		}
	}
}

func TestLongTestsAndGeneratedFilesAreFine(t *testing.T) {
	got := findings(t, `
-- kit/lockmap/long_test.go --
package lockmap
`+strings.Repeat("\n", maxLines)+`
-- kit/lockmap/long.go --
// Code generated by a test. DO NOT EDIT.

package lockmap
`+strings.Repeat("\n", maxLines))
	if len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestExitCodeTellsFindingsFromTrouble(t *testing.T) {
	cases := []struct {
		name, add string
		want      int
	}{
		{"clean", "", 0},
		{"finding", "\n-- kit/x/x.go --\npackage x\n", 1},
		{"unreadable", "\n-- kit/x/x.go --\nthis is not Go\n", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out, errs strings.Builder
			if got := run(write(t, c.add), &out, &errs); got != c.want {
				t.Errorf("exit code %d, want %d; %s%s", got, c.want, out.String(), errs.String())
			}
		})
	}
	if got := run(t.TempDir(), &strings.Builder{}, &strings.Builder{}); got != 2 {
		t.Errorf("exit code %d for a tree without a module, want 2", got)
	}
}

func TestMatch(t *testing.T) {
	cases := []struct {
		pattern, path string
		want          bool
	}{
		{"a/...", "a", true},
		{"a/...", "a/b/c", true},
		{"a/...", "ab", false},
		{"a/b", "a/b/c", false},
		{"a/*/c", "a/b/c", true},
		{"a/*/...", "a", false},
		{"std", "net/http", true},
		{"std", "quartet/kit", false},
		{"std", "golang.org/x/sync", false},
		{"os/...", "os", true},
	}
	for _, c := range cases {
		if got := match(c.pattern, c.path); got != c.want {
			t.Errorf("match(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
}

// findings checks the clean tree with the files of add laid over it.
func findings(t *testing.T, add string) []string {
	t.Helper()
	tree, err := load(write(t, add))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range check(tree, rules) {
		got = append(got, f.String())
	}
	return got
}

func write(t *testing.T, add string) string {
	t.Helper()
	root := t.TempDir()
	for _, text := range []string{clean, add} {
		for _, f := range txtar.Parse([]byte(text)).Files {
			name := filepath.Join(root, f.Name)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}
