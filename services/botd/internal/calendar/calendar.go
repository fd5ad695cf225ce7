// Package calendar knows when a line of cron comes due, in a zone whose clocks
// change.
//
// A time of day that a change of the clock leaves out is due at the change, and
// one that comes twice is due the first time: what is to happen at half past two
// happens once on every day. Only where every hour is meant does it go by the
// time that passes, so that every ten minutes are ten minutes in that night too.
//
// It is pure: the time is passed in. The zones are those of the machine, or, where
// it has none, of the program.
package calendar

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // containers often have no zones

	"github.com/robfig/cron/v3"
)

// maxCron is how many bytes a line of cron may have.
const maxCron = 256

// fields are the five of crontab(5), and the names for some of them as @daily.
const fields = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor

// Plan says when something is due. It is immutable.
type Plan struct {
	spec  *cron.SpecSchedule // in UTC, which stands for what the clocks in zone show
	zone  *time.Location
	hours bool // every hour is meant
	line  string
}

// errNever is for the thirtieth of February.
var errNever = errors.New("no such day comes within five years")

// Parse reads a line of cron, as "0 8 * * 1-5", and the name of a zone, as
// "Europe/Warsaw".
func Parse(line, zone string) (*Plan, error) {
	loc, err := location(zone)
	if err != nil {
		return nil, err
	}
	line = strings.Join(strings.Fields(line), " ")
	spec, err := parse(line)
	if err != nil {
		return nil, fmt.Errorf("cron %.*q: %w", maxCron, line, err)
	}
	p := &Plan{spec: spec, zone: loc, hours: spec.Hour&everyHour == everyHour, line: line + " " + zone}
	if spec.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() { // which has a leap day ahead
		return nil, fmt.Errorf("cron %q: %w", line, errNever)
	}
	return p, nil
}

const everyHour = 1<<24 - 1

// location finds a zone. That of the machine is none: the same file must mean
// the same everywhere.
func location(zone string) (*time.Location, error) {
	if zone == "" || zone == "Local" {
		return nil, errors.New(`zone is missing, as "Europe/Warsaw" or "UTC"`)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("zone %.50q is unknown, names are as Europe/Warsaw", zone)
	}
	return loc, nil
}

// parse reads the five fields. The library's own zones (TZ=) and intervals
// (@every) are not taken: the one would be a second zone, the other begins anew
// with each start of the program.
func parse(line string) (*cron.SpecSchedule, error) {
	switch {
	case len(line) > maxCron:
		return nil, fmt.Errorf("has more than %d bytes", maxCron)
	case strings.Contains(line, "="):
		return nil, errors.New("the zone has a field of its own")
	}
	schedule, err := cron.NewParser(fields).Parse(line)
	if err != nil {
		return nil, err
	}
	spec, ok := schedule.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("an interval is not taken, use */10 in the minutes' field")
	}
	spec.Location = time.UTC
	return spec, nil
}

// String tells plans apart: the line and the zone.
func (p *Plan) String() string { return p.line }

// Next is the first time after the given one at which the plan is due, or the
// zero time when none comes within five years.
func (p *Plan) Next(after time.Time) time.Time {
	for range maxChanges {
		local := after.In(p.zone)
		_, end := local.ZoneBounds()
		due, ok := p.within(local)
		if ok && (end.IsZero() || due.Before(end)) {
			return due.In(p.zone)
		}
		if end.IsZero() {
			return time.Time{}
		}
		if p.leftOut(end) || p.dueAt(end) {
			return end.In(p.zone)
		}
		after = end
	}
	return time.Time{}
}

// maxChanges bounds how many changes of the clock a search goes past: more than
// five years have anywhere.
const maxChanges = 64

// within finds the next due time by the clock as it goes after local, as if it
// never changed again.
func (p *Plan) within(local time.Time) (time.Time, bool) {
	from := wall(local)
	if start, _ := local.ZoneBounds(); !p.hours && !start.IsZero() {
		// What this clock shows a second time is over.
		if shown := wallBefore(start, p.zone).Add(-time.Nanosecond); shown.After(from) {
			from = shown
		}
	}
	next := p.spec.Next(from)
	_, offset := local.Zone()
	return next.Add(-time.Duration(offset) * time.Second), !next.IsZero()
}

// dueAt reports whether the plan is due at the very moment of a change, by the
// new clock.
func (p *Plan) dueAt(change time.Time) bool {
	now := wall(change.In(p.zone))
	if !p.hours && now.Before(wallBefore(change, p.zone)) {
		return false // this clock shows it a second time
	}
	return p.spec.Next(now.Add(-time.Nanosecond)).Equal(now)
}

// leftOut reports whether the plan is due at a time that the change leaves out.
// Where every hour is meant none is missed.
func (p *Plan) leftOut(change time.Time) bool {
	before, after := wallBefore(change, p.zone), wall(change.In(p.zone))
	if p.hours || !before.Before(after) {
		return false
	}
	next := p.spec.Next(before.Add(-time.Nanosecond))
	return !next.IsZero() && next.Before(after)
}

// wall is what a clock shows, as a time in UTC.
func wall(local time.Time) time.Time {
	_, offset := local.Zone()
	return local.Add(time.Duration(offset) * time.Second).UTC()
}

// wallBefore is what the clocks would show at a change had they not changed.
func wallBefore(change time.Time, zone *time.Location) time.Time {
	return wall(change.Add(-time.Nanosecond).In(zone)).Add(time.Nanosecond)
}
