package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/calendar"
	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/schedule"
	"quartet/services/botd/internal/store"
)

func job(t *testing.T, name, cron string) commandfile.Schedule {
	t.Helper()
	p, err := calendar.Parse(cron, "Europe/Warsaw")
	if err != nil {
		t.Fatal(err)
	}
	return commandfile.Schedule{Name: name, Plan: p}
}

func once(j commandfile.Schedule, late time.Duration) commandfile.Schedule {
	j.Once, j.Late = true, late
	return j
}

// open reads a book from a disk, in memory alone when there is none.
func open(t *testing.T, fs disk.FS) *schedule.Book {
	t.Helper()
	o := store.Options{Always: true}
	if fs != nil {
		o.Dir = "state"
	}
	s := store.New(fs, o)
	b := schedule.New(s)
	if err := s.Open(b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return b
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Warsaw")
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05", "2026-"+text, loc)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// step asks what runs, and ends it at once.
func step(t *testing.T, b *schedule.Book, now time.Time, jobs ...commandfile.Schedule) string {
	t.Helper()
	fired, missed, _, err := b.Step(now, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fired {
		b.End(name)
	}
	return strings.TrimSpace(strings.Join(fired, " ") + strings.Repeat(" missed", missed))
}

func TestRunsAtItsTimeOnce(t *testing.T) {
	b, j := open(t, nil), job(t, "a", "0 8 * * *")
	for _, tt := range []struct{ now, want string }{
		{"11-30 08:00:10", ""}, // new: it has missed nothing
		{"12-01 07:59:59", ""},
		{"12-01 08:00:00", "a"},
		{"12-01 08:00:00", ""},
		{"12-01 08:00:30", ""},
		{"12-02 08:00:20", "a"},
		{"12-03 08:01:01", "missed"}, // more than a minute late
		{"12-03 08:01:02", ""},
		{"12-06 12:00:00", "missed"}, // for all that came meanwhile
		{"12-06 12:00:30", ""},
		{"12-07 08:00:00", "a"},
	} {
		if got := step(t, b, at(t, tt.now), j); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.now, got, tt.want)
		}
	}
}

func TestMissedIsMadeUpForOnceIfNotTooLate(t *testing.T) {
	b, j := open(t, nil), once(job(t, "a", "0 8-12 * * *"), time.Hour)
	for _, tt := range []struct{ now, want string }{
		{"11-30 07:00:00", ""},
		{"11-30 10:59:00", "a"}, // for 8, 9 and 10
		{"11-30 11:00:00", "a"},
		{"11-30 12:00:00", "a"},
		{"12-02 07:00:00", "missed"},
		{"12-02 13:00:00", "a"}, // an hour late is not too late
		{"12-03 13:00:01", "missed"},
		{"12-03 13:00:02", ""},
	} {
		if got := step(t, b, at(t, tt.now), j); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.now, got, tt.want)
		}
	}
}

func TestClockThatIsTurned(t *testing.T) {
	b, j := open(t, nil), job(t, "a", "0 8 * * *")
	for _, tt := range []struct{ now, want string }{
		{"11-30 07:00:00", ""},
		{"11-30 08:00:00", "a"},
		{"11-30 07:30:00", ""}, // turned back
		{"11-30 08:00:00", ""},
		{"12-01 08:00:00", "a"},
		{"12-01 09:00:00", ""},
		{"12-02 09:00:00", "missed"}, // turned forward over it
		{"12-20 08:00:00", "a"},      // the clock is wrong by weeks
		{"12-03 07:00:00", ""},       // and is right again
		{"12-03 08:00:00", "a"},
	} {
		if got := step(t, b, at(t, tt.now), j); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.now, got, tt.want)
		}
	}
}

// The two nights of a year in which clocks change, minute by minute.
func TestNightsInWhichClocksChange(t *testing.T) {
	for _, night := range []string{"03-29 00:00:00", "10-25 00:00:00"} {
		b := open(t, nil)
		daily, quarters := job(t, "daily", "30 2 * * *"), job(t, "quarters", "*/15 * * * *")
		start := at(t, night)
		step(t, b, start, daily, quarters)
		ran := map[string]int{}
		for minute := 1; minute <= 6*60; minute++ {
			for _, name := range strings.Fields(step(t, b, start.Add(time.Duration(minute)*time.Minute), daily, quarters)) {
				ran[name]++
			}
		}
		if ran["daily"] != 1 || ran["quarters"] != 6*4 || len(ran) != 2 {
			t.Errorf("in the night of %s: %v", night, ran)
		}
	}
}

func TestRestartDoublesNothingAndKnowsWhatWasMissed(t *testing.T) {
	fs := powerloss.New()
	jobs := []commandfile.Schedule{job(t, "skips", "0 8 * * *"), once(job(t, "once", "0 8 * * *"), time.Hour)}
	for _, tt := range []struct{ now, want string }{
		{"11-30 07:00:00", ""},
		{"11-30 08:00:00", "skips once"},
		{"11-30 08:00:01", ""},
		{"12-01 08:30:00", "once missed"},
		{"12-01 08:30:01", ""},
		{"12-02 09:30:00", "missed missed"},
	} {
		b := open(t, fs)
		if got := step(t, b, at(t, tt.now), jobs...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.now, got, tt.want)
		}
		fs = fs.Clone() // as a crash leaves it
	}
}

// Power is lost at any step of the disk: what has run never runs again.
func TestPowerLossDoublesNothing(t *testing.T) {
	j := once(job(t, "a", "* * * * *"), time.Hour)
	for steps := 1; steps < 60; steps++ {
		fs := powerloss.New()
		b := open(t, fs)
		fs.StopAfter(steps)
		now, last := at(t, "11-30 08:00:00"), time.Time{}
		for range 20 {
			now = now.Add(time.Minute)
			fired, _, _, err := b.Step(now, []commandfile.Schedule{j})
			if err != nil {
				break
			}
			for _, name := range fired {
				b.End(name)
				last = now
			}
		}
		fs = fs.Crash(rand.New(rand.NewPCG(1, uint64(steps))))
		b = open(t, fs)
		if got := step(t, b, last, j); !last.IsZero() && got != "" {
			t.Fatalf("after %d steps: %q ran at %v and again after the crash", steps, got, last)
		}
	}
}

func TestWhatCannotBeWrittenDoesNotRun(t *testing.T) {
	fs := powerloss.New()
	b, j := open(t, fs), job(t, "a", "0 8 * * *")
	step(t, b, at(t, "11-30 07:00:00"), j)
	full := errors.New("full")
	fs.SetFail(func(powerloss.Op) error { return full })
	if fired, _, sleep, err := b.Step(at(t, "11-30 08:00:00"), []commandfile.Schedule{j}); !errors.Is(err, full) || len(fired) > 0 || sleep > time.Minute {
		t.Fatalf("fired %v, %v, tries again in %v", fired, err, sleep)
	}
}

func TestReloadSwapsJobs(t *testing.T) {
	fs := powerloss.New()
	b := open(t, fs)
	a := once(job(t, "a", "0 8 * * *"), 24*time.Hour)
	for _, tt := range []struct {
		now  string
		jobs []commandfile.Schedule
		want string
	}{
		{"11-30 07:00:00", []commandfile.Schedule{a}, ""},
		{"11-30 08:00:00", []commandfile.Schedule{a}, "a"},
		{"12-01 07:30:00", []commandfile.Schedule{once(job(t, "a", "0 7 * * *"), 24*time.Hour)}, ""}, // another time: none is missed
		{"12-01 07:40:00", []commandfile.Schedule{a}, ""},
		{"12-01 07:50:00", nil, ""},
		{"12-01 09:00:00", []commandfile.Schedule{a}, ""}, // it was not there at eight
		{"12-02 08:00:00", []commandfile.Schedule{a}, "a"},
	} {
		if got := step(t, b, at(t, tt.now), tt.jobs...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.now, got, tt.want)
		}
	}
	step(t, b, at(t, "12-02 09:00:00"))
	if n := open(t, fs.Clone()).Len(); n != 0 {
		t.Errorf("%d schedules are remembered that are no more", n)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	fs := powerloss.New()
	s := store.New(fs, store.Options{Dir: "state"})
	b := schedule.New(s)
	if err := s.Open(b); err != nil {
		t.Fatal(err)
	}
	for n := range 3000 {
		if err := s.Append(store.Record{Book: 's', Data: fmt.Appendf(nil, `{"n":"%d","p":"x","t":%d}`, n, n)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := open(t, fs.Clone()).Len(); n > 512 {
		t.Errorf("%d schedules are remembered", n)
	}
}

func TestForeignRecordIsRefused(t *testing.T) {
	for _, data := range []string{"", "x", "{}", `{"n":"a"}`, `[]`} {
		if err := schedule.New(nil).Apply([]byte(data)); err == nil {
			t.Errorf("%q is taken", data)
		}
	}
}

func quiet(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

func TestLoopFiresOnTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		jobs := []commandfile.Schedule{job(t, "a", "*/10 * * * *")}
		var fired []time.Time
		ctx, stop := context.WithCancel(t.Context())
		time.Sleep(7 * time.Second)
		go func() {
			time.Sleep(time.Hour)
			stop()
		}()
		b.Run(ctx, schedule.Options{
			Jobs: func() []commandfile.Schedule { return jobs },
			Fire: func(context.Context, commandfile.Schedule) { fired = append(fired, time.Now()) },
			Log:  quiet(t),
		})
		if len(fired) != 6 {
			t.Fatalf("fired %d times in an hour: %v", len(fired), fired)
		}
		for _, at := range fired {
			if at.Second() != 0 || at.Minute()%10 != 0 {
				t.Errorf("fired at %v", at)
			}
		}
	})
}

// Without being told the loop would see a new schedule half a minute later.
func TestChangedWakesTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		var jobs atomic.Pointer[[]commandfile.Schedule]
		jobs.Store(new([]commandfile.Schedule))
		var fired atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		time.Sleep(35 * time.Second)
		go func() {
			defer close(over)
			b.Run(ctx, schedule.Options{
				Jobs: func() []commandfile.Schedule { return *jobs.Load() },
				Fire: func(context.Context, commandfile.Schedule) { fired.Add(1) },
				Log:  quiet(t),
			})
		}()
		time.Sleep(20 * time.Second) // 5 s before the minute, and 10 s before the loop wakes
		jobs.Store(&[]commandfile.Schedule{job(t, "a", "* * * * *")})
		b.Changed()
		time.Sleep(6 * time.Second)
		if fired.Load() != 1 {
			t.Errorf("fired %d times", fired.Load())
		}
		stop()
		<-over
	})
}

// A run that does not end holds up no other schedule, and itself is not doubled.
func TestSlowRunIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil)
		jobs := []commandfile.Schedule{job(t, "slow", "* * * * *"), job(t, "quick", "* * * * *")}
		var slow, quick atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			time.Sleep(10*time.Minute + time.Second)
			stop()
		}()
		b.Run(ctx, schedule.Options{
			Jobs: func() []commandfile.Schedule { return jobs },
			Fire: func(ctx context.Context, job commandfile.Schedule) {
				if job.Name == "quick" {
					quick.Add(1)
					return
				}
				slow.Add(1)
				select {
				case <-ctx.Done():
				case <-time.After(150 * time.Second):
				}
			},
			Log: quiet(t),
		})
		if slow.Load() != 4 || quick.Load() != 10 {
			t.Errorf("slow ran %d times, quick %d", slow.Load(), quick.Load())
		}
	})
}
