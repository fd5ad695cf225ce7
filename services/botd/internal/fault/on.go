//go:build fault

package fault

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// variable is not one of BOTD_'s: those are all settings, and documented.
const variable = "FAULT_POINT"

// fuse is the point at which the process ends.
type fuse struct {
	stage Stage
	left  atomic.Int64 // how often it is still to be passed
}

// armed is of the process, like its environment: whoever passes a point has
// nothing to hand on.
var armed = sync.OnceValue(func() *fuse {
	f, err := parse(os.Getenv(variable))
	if err != nil {
		panic(err)
	}
	return f
})

// Point kills the process if it is the one to end at, passed often enough.
func Point(s Stage) {
	f := armed()
	if f == nil || f.stage != s || f.left.Add(-1) != 0 {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // not a step further
}

// parse reads stage:n; nothing is no fuse.
func parse(value string) (*fuse, error) {
	if value == "" {
		return nil, nil
	}
	name, times, _ := strings.Cut(value, ":")
	n, err := strconv.ParseInt(times, 10, 64)
	if err != nil || n < 1 || !slices.Contains(Stages(), Stage(name)) {
		return nil, fmt.Errorf("%s=%q: want a stage of %v, a colon, and a count from 1", variable, value, Stages())
	}
	f := &fuse{stage: Stage(name)}
	f.left.Store(n)
	return f, nil
}
