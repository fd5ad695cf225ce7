//go:build !linux

package signalnet

import "time"

// nap sleeps as well as the runtime can.
func nap(d time.Duration) { time.Sleep(d) }
