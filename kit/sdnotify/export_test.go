package sdnotify

import "time"

// Pauses returns the time between two looks at a service, before it is first
// ready and afterwards, where systemd watches with the given period.
func Pauses(watchdog time.Duration) (starting, ready time.Duration) {
	n := &Notifier{watchdog: watchdog}
	starting = n.pause()
	n.ready = true
	return starting, n.pause()
}
