package spawn

import "time"

// SetSendTimeout changes how long a spawner that takes nothing is waited for,
// while there is none.
func SetSendTimeout(d time.Duration) (restore func()) {
	was := sendTimeout
	sendTimeout = d
	return func() { sendTimeout = was }
}

// PID is the process of the spawner, 0 if there is none now.
func (s *Spawner) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0
	}
	return s.proc.pid
}
