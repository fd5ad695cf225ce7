package schedule

import (
	"time"

	"quartet/services/botd/internal/commandfile"
)

// Step settles what is due: which schedules run, how many times were missed, and
// how long the loop would sleep.
func (b *Book) Step(now time.Time, jobs []commandfile.Schedule) (fired []string, missed int, sleep time.Duration, err error) {
	due, sleep, err := b.step(now, jobs)
	for _, d := range due {
		if d.fire {
			fired = append(fired, d.job.Name)
		} else {
			missed++
		}
	}
	return fired, missed, sleep, err
}

// End ends a run.
func (b *Book) End(name string) { b.end(name) }

// Len is how many schedules are remembered.
func (b *Book) Len() int { return len(b.seen) }
