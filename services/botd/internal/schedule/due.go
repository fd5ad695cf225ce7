package schedule

import (
	"time"

	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/store"
)

// ahead is how far a memory may be ahead of the clock.
const ahead = 24 * time.Hour

// entry is what is known of a schedule.
type entry struct {
	plan string
	last time.Time // up to when all that was due is settled
}

// occasion is a time at which a schedule was due.
type occasion struct {
	job  commandfile.Schedule
	at   time.Time
	fire bool // it runs now
	busy bool // it does not, since it still runs from the time before
}

// step settles all that is due, writes it down, and says what is to run and how
// long there is to sleep. After an error nothing is settled of what could not be
// written.
func (b *Book) step(now time.Time, jobs []commandfile.Schedule) (due []occasion, sleep time.Duration, err error) {
	now = now.Round(0) // by the wall clock
	if err := b.forget(jobs); err != nil {
		return nil, nap, err
	}
	sleep = nap
	for _, job := range jobs {
		d, next, failed := b.settle(now, job)
		if failed != nil {
			err = failed
			continue
		}
		if !d.at.IsZero() {
			due = append(due, d)
		}
		if wait := next.Sub(now); !next.IsZero() && wait < sleep {
			sleep = max(wait, 0)
		}
	}
	return due, sleep, err
}

// settle settles what is due of one schedule. next is when it is due again.
func (b *Book) settle(now time.Time, job commandfile.Schedule) (d occasion, next time.Time, err error) {
	b.mu.Lock()
	e, known := b.seen[job.Name]
	busy := b.running[job.Name]
	b.mu.Unlock()
	if !known || e.plan != job.Plan.String() || e.last.After(now.Add(ahead)) {
		return occasion{}, job.Plan.Next(now), b.write(job.Name, entry{job.Plan.String(), now})
	}
	at, settled, next := latest(job, e.last, now)
	if at.IsZero() {
		return occasion{}, next, nil
	}
	if err := b.write(job.Name, entry{e.plan, settled}); err != nil {
		return occasion{}, next, err
	}
	onTime := now.Sub(at) <= late || job.Once && now.Sub(at) <= job.Late
	d = occasion{job: job, at: at, fire: onTime && !busy, busy: onTime && busy}
	if d.fire {
		b.mu.Lock()
		b.running[job.Name] = true
		b.mu.Unlock()
	}
	return d, next, nil
}

// latest is the last time up to now at which job was due since last, zero when it
// was not, up to when all is settled then, and the next time. A long absence is
// not gone through: of what is too late anyway only the first time is told.
func latest(job commandfile.Schedule, last, now time.Time) (at, settled, next time.Time) {
	next = job.Plan.Next(last)
	if next.IsZero() || next.After(now) {
		return time.Time{}, last, next
	}
	at, settled = next, next
	if from := now.Add(-max(late, job.Late) - time.Second); from.After(at) {
		settled = from
	}
	for {
		next = job.Plan.Next(settled)
		if next.IsZero() || next.After(now) {
			return at, settled, next
		}
		at, settled = next, next
	}
}

// forget drops the schedules that are no more.
func (b *Book) forget(jobs []commandfile.Schedule) error {
	there := make(map[string]bool, len(jobs))
	for _, job := range jobs {
		there[job.Name] = true
	}
	var records []store.Record
	b.mu.Lock()
	for name := range b.seen {
		if !there[name] {
			delete(b.seen, name)
			records = append(records, encode(record{Name: name, Gone: true}))
		}
	}
	b.mu.Unlock()
	return b.store.Append(records...)
}

// write notes an entry and writes it down. If that fails it is again what it was.
func (b *Book) write(name string, e entry) error {
	b.mu.Lock()
	before, known := b.seen[name]
	b.seen[name] = e
	b.mu.Unlock()
	err := b.store.Append(encode(e.record(name)))
	if err == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[name] = before; !known {
		delete(b.seen, name)
	}
	return err
}
