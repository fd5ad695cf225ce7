package bot

import (
	"slices"
	"sync"
	"time"

	"quartet/kit/timing"
	"quartet/services/botd/internal/said"
)

// maxRecent is over how many of the last answers the figures of !status go.
const maxRecent = 1024

// recent are the times of the last answers, and how many there were.
type recent struct {
	mu       sync.Mutex
	times    []timing.Times // guarded by mu, as the rest; a ring once it is full
	next     int
	answered int
	failed   int
}

func (r *recent) add(outcome timing.Outcome, t timing.Times) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if outcome == timing.OK {
		r.answered++
	} else if outcome != timing.Rejected {
		r.failed++
	}
	if len(r.times) < maxRecent {
		r.times = append(r.times, t)
		return
	}
	r.times[r.next] = t
	r.next = (r.next + 1) % maxRecent
}

// spread is how one part of the last answers' times is distributed.
func spread(times []timing.Times, part func(timing.Times) time.Duration) said.Spread {
	if len(times) == 0 {
		return said.Spread{}
	}
	all := make([]time.Duration, len(times))
	var sum time.Duration
	for i, t := range times {
		all[i] = part(t)
		sum += all[i]
	}
	slices.Sort(all)
	at := func(p int) time.Duration { return all[(len(all)-1)*p/100] }
	return said.Spread{P50: at(50), P95: at(95), P99: at(99), Sum: sum}
}

// fill puts the figures into what admins are told.
func (r *recent) fill(s *said.State) {
	r.mu.Lock()
	times := slices.Clone(r.times)
	s.Answered, s.Failed = r.answered, r.failed
	r.mu.Unlock()
	s.Own = spread(times, timing.Times.Own)
	s.Upstream = spread(times, func(t timing.Times) time.Duration { return t.Upstream })
	s.Send = spread(times, func(t timing.Times) time.Duration { return t.Send })
}
