package calendar_test

import (
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/calendar"
)

func plan(t *testing.T, line, zone string) *calendar.Plan {
	t.Helper()
	p, err := calendar.Parse(line, zone)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// at reads a time with its offset, as 2026-03-29 01:30 +01.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04 -07", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestNextIsByTheClockOfTheZone(t *testing.T) {
	for _, tt := range []struct{ line, zone, after, want string }{
		{"0 8 * * 1-5", "Europe/Warsaw", "2026-11-30 07:59 +01", "2026-11-30 08:00 +01"},
		{"0 8 * * 1-5", "Europe/Warsaw", "2026-11-30 08:00 +01", "2026-12-01 08:00 +01"},
		{"0 8 * * 1-5", "Europe/Warsaw", "2026-12-04 08:00 +01", "2026-12-07 08:00 +01"}, // over a weekend
		{"0 8 * * 1-5", "UTC", "2026-11-30 08:30 +01", "2026-11-30 08:00 +00"},
		{"@daily", "Europe/Warsaw", "2026-11-30 08:00 +01", "2026-12-01 00:00 +01"},
		{"30 12 29 2 *", "Europe/Warsaw", "2026-11-30 08:00 +01", "2028-02-29 12:30 +01"},
		{"0 8 * * *", "Europe/Warsaw", "2026-03-28 08:00 +01", "2026-03-29 08:00 +02"}, // a day of 23 hours
		{"0 8 * * *", "Europe/Warsaw", "2026-10-24 08:00 +02", "2026-10-25 08:00 +01"}, // and of 25
	} {
		got := plan(t, tt.line, tt.zone).Next(at(t, tt.after))
		if want := at(t, tt.want); !got.Equal(want) {
			t.Errorf("%s in %s after %s: %v, want %v", tt.line, tt.zone, tt.after, got, want)
		}
	}
}

// In Warsaw 02:00 to 03:00 is left out on 29 March 2026 and comes twice on 25
// October; in Santiago midnight to 01:00 is left out, on Lord Howe half an hour.
func TestChangesOfTheClock(t *testing.T) {
	for _, tt := range []struct {
		name, line, zone, after string
		want                    []string
	}{
		{"a time left out is due at the change", "30 2 * * *", "Europe/Warsaw", "2026-03-28 02:30 +01",
			[]string{"2026-03-29 03:00 +02", "2026-03-30 02:30 +02"}},
		{"several of them are due once", "0,30 2 * * *", "Europe/Warsaw", "2026-03-28 02:30 +01",
			[]string{"2026-03-29 03:00 +02", "2026-03-30 02:00 +02"}},
		{"left out, and due after the change too", "30 2,3 * * *", "Europe/Warsaw", "2026-03-28 03:30 +01",
			[]string{"2026-03-29 03:00 +02", "2026-03-29 03:30 +02", "2026-03-30 02:30 +02"}},
		{"left out and at the change itself are one", "0 2,3 * * *", "Europe/Warsaw", "2026-03-28 03:00 +01",
			[]string{"2026-03-29 03:00 +02", "2026-03-30 02:00 +02"}},
		{"a time that comes twice is due once", "30 2 * * *", "Europe/Warsaw", "2026-10-24 02:30 +02",
			[]string{"2026-10-25 02:30 +02", "2026-10-26 02:30 +01"}},
		{"asked between the two", "45 2 * * *", "Europe/Warsaw", "2026-10-25 02:46 +02",
			[]string{"2026-10-26 02:45 +01"}},
		{"asked within the second", "45 2 * * *", "Europe/Warsaw", "2026-10-25 02:10 +01",
			[]string{"2026-10-26 02:45 +01"}},
		{"the hour's own beginning", "0 2 * * *", "Europe/Warsaw", "2026-10-24 02:00 +02",
			[]string{"2026-10-25 02:00 +02", "2026-10-26 02:00 +01"}},
		{"the end of what comes twice", "0 3 * * *", "Europe/Warsaw", "2026-10-24 03:00 +02",
			[]string{"2026-10-25 03:00 +01", "2026-10-26 03:00 +01"}},
		{"each half hour, none is left out", "*/30 * * * *", "Europe/Warsaw", "2026-03-29 01:15 +01",
			[]string{"2026-03-29 01:30 +01", "2026-03-29 03:00 +02", "2026-03-29 03:30 +02"}},
		{"each hour, none is made up for", "15 * * * *", "Europe/Warsaw", "2026-03-29 01:00 +01",
			[]string{"2026-03-29 01:15 +01", "2026-03-29 03:15 +02", "2026-03-29 04:15 +02"}},
		{"each half hour, all come twice", "*/30 * * * *", "Europe/Warsaw", "2026-10-25 02:15 +02",
			[]string{"2026-10-25 02:30 +02", "2026-10-25 02:00 +01", "2026-10-25 02:30 +01", "2026-10-25 03:00 +01"}},
		{"midnight left out", "0 0 * * *", "America/Santiago", "2026-09-05 12:00 -04",
			[]string{"2026-09-06 01:00 -03", "2026-09-07 00:00 -03"}},
		{"half an hour left out", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00 +10",
			[]string{"2026-10-03 15:30 +00", "2026-10-04 15:15 +00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, now := plan(t, tt.line, tt.zone), at(t, tt.after)
			for _, want := range tt.want {
				if now = p.Next(now); !now.Equal(at(t, want)) {
					t.Fatalf("due %v, want %s", now, want)
				}
			}
		})
	}
}

// On every day of years with changes of the clock, in zones with odd ones, a
// time of day is due exactly once.
func TestATimeOfDayIsDueOncePerDay(t *testing.T) {
	for _, zone := range []string{"Europe/Warsaw", "America/Santiago", "Australia/Lord_Howe", "America/New_York", "Africa/Casablanca", "Asia/Kolkata"} {
		for _, line := range []string{"0 0 * * *", "30 1 * * *", "0 2 * * *", "30 2 * * *", "0 3 * * *", "59 23 * * *"} {
			p := plan(t, line, zone)
			loc, _ := time.LoadLocation(zone)
			now := time.Date(2024, 1, 1, 23, 59, 30, 0, loc)
			for day := range 3 * 365 {
				next := p.Next(now)
				want := time.Date(2024, 1, 2+day, 12, 0, 0, 0, loc)
				if y, m, d := next.In(loc).Date(); y != want.Year() || m != want.Month() || d != want.Day() {
					t.Fatalf("%s in %s: after %v due %v, want some time on %v", line, zone, now, next, want)
				}
				now = next
			}
		}
	}
}

func TestWhatIsNoPlan(t *testing.T) {
	for _, tt := range []struct{ line, zone, says string }{
		{"", "UTC", "empty"},
		{"* * * *", "UTC", "expected exactly 5 fields"},
		{"0 0 8 * * *", "UTC", "expected exactly 5 fields"},
		{"61 * * * *", "UTC", "61"},
		{"0 8 * * 7", "UTC", "maximum (6)"},
		{"0 8 30 2 *", "UTC", "no such day"},
		{"TZ=UTC", "UTC", "zone has a field"},
		{"TZ=UTC 0 8 * * *", "UTC", "zone has a field"},
		{"@every 5m", "UTC", "interval"},
		{"@sometimes", "UTC", "@sometimes"},
		{strings.Repeat("0,", 200) + "0 8 * * *", "UTC", "more than"},
		{"0 8 * * *", "", "zone is missing"},
		{"0 8 * * *", "Local", "zone is missing"},
		{"0 8 * * *", "Europe/Krakow", "is unknown"},
		{"0 8 * * *", "../../etc/passwd", "is unknown"},
	} {
		if p, err := calendar.Parse(tt.line, tt.zone); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q in %q: %v, %v; want an error that says %q", tt.line, tt.zone, p, err, tt.says)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"0 8 * * 1-5", "*/10 * * * *", "@daily", "@every 5m", "TZ=", "0 8 29 feb sun", "5-1 * * * *", "*/0 * * * *", "1-59/7 ? * JAN-MAR *"} {
		f.Add(line, "Europe/Warsaw", int64(1_790_000_000))
	}
	f.Fuzz(func(t *testing.T, line, zone string, unix int64) {
		p, err := calendar.Parse(line, zone)
		if err != nil {
			return
		}
		after := time.Unix(unix%(1<<33), 0)
		next := p.Next(after)
		if !next.IsZero() && !next.After(after) {
			t.Errorf("%q in %q: after %v due %v", line, zone, after, next)
		}
		if again, err := calendar.Parse(line, zone); err != nil || again.String() != p.String() {
			t.Errorf("%q in %q is read in two ways", line, zone)
		}
	})
}
