package main

import "slices"

// A rule says what the packages of `from` may or may not import. Patterns are
// Go's: `x` is that package, `x/...` is it and everything below it, `*` stands
// for one path element, and `std` for the whole standard library.
type rule struct {
	name string
	from []string

	only  []string // every import must match one of these, when there are any
	never []string // no import may match one of these
	calls []string // names of the standard library that may not be used

	ownModule bool // imports inside the importer's own module are always fine
	tests     bool // _test.go files are held to the rule as well
	mains     bool // package main is held to the rule as well

	why string
}

// pure names the packages that decide without touching the world: the same
// input gives the same output, so they are tested and fuzzed as tables.
var pure = []string{
	"quartet/services/botd/internal/asked",
	"quartet/services/botd/internal/calendar",
	"quartet/services/botd/internal/commandfile",
	"quartet/services/botd/internal/envelope",
	"quartet/services/botd/internal/pages",
	"quartet/services/botd/internal/said",
	"quartet/services/busd/internal/address",
	"quartet/services/busd/internal/busconf",
	"quartet/services/busd/internal/match",
	"quartet/services/busd/internal/name",
	"quartet/services/busd/internal/policy",
	"quartet/services/busd/internal/sasl",
	"quartet/services/busd/internal/service",
	"quartet/services/busd/internal/wire",
}

// pureText are libraries that a pure package may use: tables of Unicode, and
// readers of notations.
var pureText = []string{"golang.org/x/text/unicode/norm", "github.com/rivo/uniseg",
	"github.com/pelletier/go-toml/v2/...", "github.com/robfig/cron/v3"}

// mechanisms are the parts of the kit that do something, and measure nothing.
var mechanisms = []string{"quartet/kit/budget/...", "quartet/kit/journal/...", "quartet/kit/lockmap/...", "quartet/kit/pool/...", "quartet/kit/sdnotify/..."}

// rules is the table. A module's requirements (go.mod) count as imports by the
// module's path, so a forbidden module cannot even be listed.
var rules = []rule{
	{
		name:  "kit knows nobody",
		from:  []string{"quartet/kit/..."},
		never: []string{"quartet/services/...", "quartet/sim/...", "quartet/cmd/...", "quartet/e2e/..."},
		tests: true, mains: true,
		why: "the kit is what all services share; what it took from one of them, all would carry",
	},
	{
		name:      "services do not know each other",
		from:      []string{"quartet/services/..."},
		never:     []string{"quartet/services/...", "quartet/cmd/...", "quartet/e2e/..."},
		ownModule: true, tests: true, mains: true,
		why: "each service is built, deployed and read alone; what two of them need belongs in the kit",
	},
	{
		name:  "services do not know the simulators",
		from:  []string{"quartet/services/..."},
		never: []string{"quartet/sim/..."},
		tests: true, mains: true,
		why: "a service and its simulator must never be right only by agreement: tests build sim's programs and steer them over HTTP",
	},
	{
		name:  "simulators do not know the services",
		from:  []string{"quartet/sim/..."},
		never: []string{"quartet/services/...", "quartet/cmd/...", "quartet/e2e/..."},
		tests: true, mains: true,
		why: "a simulator plays the outside world; it takes nothing from the program that it tests",
	},
	{
		name:  "the launcher and e2e run programs",
		from:  []string{"quartet/cmd/...", "quartet/e2e/..."},
		never: []string{"quartet/services/...", "quartet/sim/..."},
		tests: true, mains: true,
		why: "they see what a user sees: built programs, their ports and their output",
	},
	{
		name: "the kit's mechanisms stand on the standard library",
		from: mechanisms,
		only: append([]string{"std"}, mechanisms...),
		why:  "mechanism and measurement stay apart: they offer hooks, kit/timing connects them",
	},
	{
		name: "the kit's mechanisms stay free of measurement in tests too",
		from: mechanisms,
		never: []string{"quartet/kit/timing/...", "quartet/kit/telemetry/...", "quartet/kit/settings/...",
			"go.opentelemetry.io/...", "github.com/prometheus/..."},
		tests: true, mains: true,
		why: "mechanism and measurement stay apart: they offer hooks, kit/timing connects them",
	},
	{
		name:  "the power-loss model is for tests",
		from:  []string{"quartet/kit/...", "quartet/services/...", "quartet/cmd/..."},
		never: []string{"quartet/kit/journal/powerloss"},
		mains: true,
		why:   "a program that kept its files in the model would lose them",
	},
	{
		name:  "other buses and load are for tests",
		from:  []string{"quartet/services/busd/cmd/...", "quartet/services/busd/internal/daemon", "quartet/services/busd/internal/bus"},
		never: []string{"quartet/services/busd/internal/buses", "quartet/services/busd/internal/load"},
		mains: true,
		why:   "a bus does not start others, and package testing has no place in it",
	},
	{
		name:  "timing needs the API, not the SDK",
		from:  []string{"quartet/kit/timing/..."},
		never: []string{"go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/...", "github.com/prometheus/..."},
		why:   "where measurements go is the program's choice, made in main through kit/telemetry",
	},
	{
		name:  "only mains set up telemetry",
		from:  []string{"quartet/..."},
		never: []string{"quartet/kit/telemetry/..."},
		why:   "the SDK, its exporters and the admin server are wired once, in main; everything else gets instruments passed in",
	},
	{
		name: "pure packages",
		from: pure,
		only: slices.Concat([]string{"std"}, pureText, pure),
		never: []string{"net", "net/http/...", "net/rpc/...", "net/smtp", "os/...", "log/...", "syscall", "io/ioutil", "testing/...",
			"crypto/rand", "math/rand/..."},
		calls: []string{
			"time.Now", "time.Since", "time.Until", "time.Sleep",
			"time.After", "time.AfterFunc", "time.Tick", "time.NewTimer", "time.NewTicker",
			"context.WithTimeout", "context.WithDeadline",
		},
		why: "the same input gives the same output: no network, no files, no clock, no chance, no log",
	},
}

// maxLines is the longest a source file may be. The house aims at 60 to 150.
const maxLines = 600
