// Package cpu measures a benchmark by the processor time its process used.
//
// Wall time on a shared machine says how busy the neighbours were; processor
// time per operation says what the code costs. It counts every thread of the
// process, the garbage collector's too.
package cpu

import (
	"syscall"
	"testing"
	"time"
)

// PerOp starts counting and returns a function that reports what was used
// since as "cpu-ns/op". Use it as
//
//	defer cpu.PerOp(b)()
//	for b.Loop() { … }
func PerOp(b *testing.B) func() {
	start := used()
	return func() {
		b.ReportMetric(float64((used()-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
	}
}

// used is the user and system time of this process so far.
func used() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // only a bad argument makes it fail
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
