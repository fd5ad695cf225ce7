package signalnet

import (
	"syscall"
	"time"
)

// nap sleeps for less than a few milliseconds, to within a tenth of one: timers
// of the runtime wake about every millisecond.
func nap(d time.Duration) {
	ts := syscall.NsecToTimespec(d.Nanoseconds())
	_ = syscall.Nanosleep(&ts, nil) // a signal makes it shorter, which does no harm
}
