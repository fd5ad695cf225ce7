// Package load holds the workloads that the benchmarks put on a bus, and what
// they measure: wall time, the bus's own processor time, latencies, memory.
//
//	load.go      the workloads by name, and what one of them returns
//	meter.go     the measuring
//	message.go   messages as bytes, written once and patched
//	frame.go     messages as they come, read where they lie
//	conn.go      a connection: handshake, read, write; crowd.go many of them
//	service.go   who answers calls
//
// and a file for each kind of workload. It has its own few lines of D-Bus and
// takes nothing from package wire: what busd writes is read here by somebody
// else, and the client costs little and the same for every bus. Every message
// is counted and must come in the order in which it was sent, with the body
// that it had; a lost, doubled or changed one fails the run.
//
// Subscribers and services each have an OS thread, as they would as programs.
// Every wait ends after patience.
package load

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"quartet/services/busd/internal/buses"
)

// patience is how long the client waits for anything that a bus owes it.
const patience = 30 * time.Second

// Size scales a workload; what is 0 is as the workload has it.
type Size struct {
	Count int // operations
	Peers int // connections beside the one that measures
}

// Workload is something to do to a bus.
type Workload struct {
	Name string
	What string // one operation, and how many with whom
	Size Size
	run  func(*run) error
}

// Workloads are all of them, in the order of a whole run. Signals and calls
// carry a string of 64 bytes where nothing else is said.
var Workloads = []Workload{
	{"connect", "connect, authenticate, Hello, close; one after the other", Size{Count: 1000}, connect},
	{"storm", "the same, 400 at once", Size{Count: 2000, Peers: 400}, storm},
	{"broadcast", "a signal to 20 subscribers, written one by one without a wait", Size{Count: 6000, Peers: 20}, broadcast},
	{"burst", "the same to one subscriber", Size{Count: 60000, Peers: 1}, broadcast},
	{"fanout", "a signal to 20 subscribers, the next when all have it; latency of each", Size{Count: 2000, Peers: 20}, fanout},
	{"calls", "a call, 64 in flight", Size{Count: 60000, Peers: 64}, calls},
	{"rtt", "a call, one in flight", Size{Count: 15000, Peers: 1}, calls},
	{"driver", "a call to the bus itself", Size{Count: 20000}, driver},
	{"shared", "a call, 100 proxies on one connection with one in flight each; their start counts", Size{Count: 40000, Peers: 100}, shared},
	{"starts", "a client starts with 100 proxies on its connection, and goes", Size{Count: 200, Peers: 100}, starts},
	{"conns20", "a call, 20 connections with one in flight each", Size{Count: 40000, Peers: 20}, connections},
	{"conns100", "a call, 100 connections with one in flight each", Size{Count: 40000, Peers: 100}, connections},
	{"conns1000", "a call, 1000 connections with one in flight each", Size{Count: 40000, Peers: 1000}, connections},
	{"self20", "a call of 16 KiB, 20 connections that call themselves", Size{Count: 10000, Peers: 20}, self},
	{"bigmsg", "a call of 1 MiB, 4 in flight", Size{Count: 300, Peers: 4}, bigCalls},
	{"names", "a name taken and released, 20 watch it", Size{Count: 3000, Peers: 20}, names},
	{"matches", "a signal to one subscriber past 20,000 rules of others", Size{Count: 3000, Peers: 20}, foreignRules},
	{"fdpass", "a call with a descriptor, one in flight", Size{Count: 5000}, descriptors},
	{"nosub", "a signal that nobody wants", Size{Count: 60000}, unwanted},
	{"idle", "what a bus has in memory alone, and with 1000 idle connections", Size{Count: 1000}, idle},
}

// Named is the workload of that name.
func Named(name string) (Workload, error) {
	for _, w := range Workloads {
		if w.Name == name {
			return w, nil
		}
	}
	return Workload{}, fmt.Errorf("no workload is called %q", name)
}

// Result is what one run of a workload has shown.
type Result struct {
	Count   int           // operations
	Wall    time.Duration // of all operations
	CPU     time.Duration // of the bus in this time
	Figures Figures
}

// Figures are what else was measured, by name: the name ends with the unit.
type Figures map[string]float64

// Names of figures.
const (
	P50           = "p50-us" // of one operation's latency
	P99           = "p99-us"
	AllP50        = "all-p50-us" // until the last subscriber has it
	PeakMemory    = "peak-KiB"
	IdleMemory    = "idle-KiB"
	HelperMemory  = "helpers-KiB"
	PerConnection = "conn-B"
)

// run is one run of a workload on a bus.
type run struct {
	bus  *buses.Bus
	path string // of the bus's socket; @ in front means an abstract one
	size Size

	meter  meter
	result Result
}

// Run puts the workload on a bus that is at rest. Fields of size that are not 0
// take the place of the workload's.
func (w Workload) Run(bus *buses.Bus, size Size) (Result, error) {
	path, err := socketPath(bus.Address)
	if err != nil {
		return Result{}, err
	}
	r := &run{bus: bus, path: path, size: w.Size}
	if size.Count > 0 {
		r.size.Count = size.Count
	}
	if size.Peers > 0 {
		r.size.Peers = size.Peers
	}
	r.result.Figures = Figures{}
	runtime.GC() // what the run before has left, see Prepare
	// The one that measures has a thread too.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := w.run(r); err != nil {
		return Result{}, fmt.Errorf("%s on %s: %w", w.Name, bus.Kind, err)
	}
	return r.result, nil
}

// Prepare makes this process fit to put load on a bus, for its whole life:
// every thread that waits in a system call may keep its place in Go's
// scheduler, and no collection of garbage falls into a measurement, but where
// memory gets short.
func Prepare() {
	runtime.GOMAXPROCS(64)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(1 << 30)
}
