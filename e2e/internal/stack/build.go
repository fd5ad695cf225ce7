// Package stack runs the project's real programs for tests: it builds them
// once, starts them on free addresses of 127.0.0.0/8, and steers the simulators.
//
//	build.go    the programs
//	process.go  one of them while it runs, procfs.go what it weighs
//	world.go    botd between its simulators, by each way to Signal
//	bus.go      busd on a socket of its own, also as built for another processor
//	unit.go     busd as systemd starts it
//	sim.go      the simulators' control surface
//	metrics.go  what botd counts, served.go what its log tells of each request
package stack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// The programs, by package from the repository's root. Faulty is botd as
// FaultBuild makes it.
var (
	programs = []string{"./services/botd/cmd/botd", "./sim/cmd/simsignal", "./sim/cmd/simweb", "./cmd/quartet", "./e2e/cmd/bareloop",
		"./services/busd/cmd/busd", "./services/busd/cmd/busd-telemetry", "./sim/cmd/simbus"}
	faulty = []string{"-tags", "fault", "./services/botd/cmd/botd"}
)

// FaultBuild is botd with points at which FAULT_POINT lets it end.
const FaultBuild = "fault/botd"

// folder is where the programs are built, for all tests of a run.
var folder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "quartet-e2e-") })

// build makes all programs once, buildFaulty the one with faults.
var (
	build       = sync.OnceValue(func() error { return compile("", programs) })
	buildFaulty = sync.OnceValue(func() error { return compile(filepath.Dir(FaultBuild), faulty) })
)

func compile(under string, what []string, env ...string) error {
	dir, err := folder()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{"build", "-o", filepath.Join(dir, under) + string(filepath.Separator)}, what...)...)
	cmd.Dir = Root()
	// The programs as the workspace builds them, also where the tests run alone.
	cmd.Env = append(append(os.Environ(), "GOWORK="+filepath.Join(Root(), "go.work")), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// Main runs the tests of a package and takes the built programs away.
func Main(m *testing.M) int {
	code := m.Run()
	if dir, err := folder(); err == nil {
		os.RemoveAll(dir)
	}
	return code
}

// Root is the repository's root.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			panic("go.work is in no parent folder")
		}
		dir = parent
	}
}

// Program is the path of a built program.
func Program(t testing.TB, name string) string {
	t.Helper()
	built := build
	if name == FaultBuild {
		built = buildFaulty
	}
	dir, err := folder()
	if err := errors.Join(err, built()); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}
