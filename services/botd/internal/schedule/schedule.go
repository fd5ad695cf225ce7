// Package schedule runs what is due by the clock, and remembers what ran.
//
// Each schedule runs at its times and never twice for one: that it has run is
// written down before it does. What cannot be written down does not run. What was
// due while the bot was down, or while the clock was turned forward, is missed
// when it is more than a minute late: it is skipped, or, where the schedule wants
// that, the last of it runs late. A schedule that is new, or has a new time,
// begins now and has missed nothing.
//
// When the clock is turned back, what has run does not run again. Only a memory
// that is more than a day ahead of the clock is taken for a fault of the clock
// and given up.
//
//	schedule.go  the loop
//	due.go       what is due, and what was missed
//	book.go      what is remembered, in the store
//
// What a schedule does is others' business.
package schedule

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/store"
)

const (
	// late is how late a run may be and still be on time: a minute is what
	// schedules are told in, and as long as the loop may sleep.
	late = time.Minute

	// nap is the longest sleep: the clock may be turned meanwhile, which a timer
	// does not notice.
	nap = 30 * time.Second
)

// Options are what a loop runs.
type Options struct {
	// Jobs are the schedules as they are now. It may be called often, and the
	// slice is not changed. A schedule that it does not return is forgotten.
	Jobs func() []commandfile.Schedule

	// Fire runs a schedule, on a goroutine of its own. While it does, the same
	// schedule's next time is passed over. Its context ends with that of Run.
	Fire func(ctx context.Context, job commandfile.Schedule)

	Log *slog.Logger
}

// Book remembers when each schedule ran. It is a store.Book, and safe for
// concurrent use.
type Book struct {
	store *store.Store
	wake  chan struct{}

	mu      sync.Mutex
	seen    map[string]entry // by the schedule's name; guarded by mu, as below
	running map[string]bool
}

// New returns a book that writes to w.
func New(w *store.Store) *Book {
	return &Book{store: w, wake: make(chan struct{}, 1), seen: make(map[string]entry), running: make(map[string]bool)}
}

// Changed tells the loop that there are other jobs now.
func (b *Book) Changed() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Run runs schedules until ctx ends, and returns when all that it fired has
// ended. The store must be open. One call at a time.
func (b *Book) Run(ctx context.Context, o Options) {
	var fired sync.WaitGroup
	defer fired.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-b.wake:
		}
		due, sleep, err := b.step(time.Now(), o.Jobs())
		if err != nil {
			o.Log.LogAttrs(ctx, slog.LevelError, "schedules do not run, that they ran cannot be kept", slog.Any("err", err))
		}
		for _, d := range due {
			b.report(ctx, o.Log, d)
			if d.fire {
				fired.Go(func() {
					defer b.end(d.job.Name)
					o.Fire(ctx, d.job)
				})
			}
		}
		timer.Reset(sleep)
	}
}

// report logs what became of a time that came.
func (b *Book) report(ctx context.Context, log *slog.Logger, d occasion) {
	level, what := slog.LevelInfo, "schedule runs"
	switch {
	case d.busy:
		level, what = slog.LevelWarn, "schedule passed over, it still runs"
	case !d.fire:
		level, what = slog.LevelWarn, "schedule missed"
	}
	log.LogAttrs(ctx, level, what, slog.String("schedule", d.job.Name), slog.Time("due", d.at))
}

// end notes that a run has ended.
func (b *Book) end(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, name)
}
