package spawn

import "time"

// SetSendTimeout changes how long a spawner that takes nothing is waited for,
// while there is none.
func SetSendTimeout(d time.Duration) (restore func()) {
	was := sendTimeout
	sendTimeout = d
	return func() { sendTimeout = was }
}
