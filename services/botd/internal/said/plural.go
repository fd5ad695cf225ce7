package said

import "time"

// form returns which plural form goes with n: in Polish 0 for one (1 kot), 1
// for few (2 koty), 2 for many (5 kotów); in English 0 for one, 1 for other.
// They are CLDR's rules for whole numbers; the sign does not matter.
func form(l Lang, n int) int {
	ones, tens := n%10, n%100
	if n < 0 {
		ones, tens = -ones, -tens
	}
	one := n == 1 || n == -1
	switch {
	case one:
		return 0
	case l == English:
		return 1
	case ones >= 2 && ones <= 4 && (tens < 12 || tens > 14):
		return 1
	}
	return 2
}

// unit is a unit of time and its words: on its own, and behind "za".
type unit struct {
	length time.Duration
	alone  key
	after  key
}

var units = []unit{
	{24 * time.Hour, days, inDays},
	{time.Hour, hours, inHours},
	{time.Minute, minutes, inMinutes},
	{time.Second, seconds, inSeconds},
}

// Lasting says how long something is, rounded up to whole seconds, and from a
// minute on in the two largest units: "1 minuta i 30 sekund". Below a second it
// is "0 sekund".
func (l Lang) Lasting(d time.Duration) string {
	return l.duration(d, func(u unit) key { return u.alone })
}

// In says when something will be, in the way of Lasting: "za 3 sekundy", "in 3
// seconds". What is due already is "za chwilę": telling people to wait for 0
// seconds would be a lie.
func (l Lang) In(d time.Duration) string {
	if d <= 0 {
		return l.say(soon)
	}
	return l.say(in, text("duration", l.duration(d, func(u unit) key { return u.after })))
}

func (l Lang) duration(d time.Duration, words func(unit) key) string {
	last := len(units) - 1
	// Rounding up may reach the next larger unit (59.5 s), so it is done from
	// the smallest unit that is said, and the units are looked for anew.
	d = roundUp(d, time.Second)
	for i, u := range units[:last] {
		if d >= u.length {
			d = roundUp(d, units[i+1].length)
			break
		}
	}
	for i, u := range units[:last] {
		if d < u.length {
			continue
		}
		first := l.say(words(u), count("n", int(d/u.length)))
		rest := int(d % u.length / units[i+1].length)
		if rest == 0 {
			return first
		}
		return l.say(and, text("first", first), text("second", l.say(words(units[i+1]), count("n", rest))))
	}
	return l.say(words(units[last]), count("n", int(d/time.Second)))
}

// roundUp returns the next multiple of unit; below 0 it returns 0, and where
// there is no next one the last.
func roundUp(d, unit time.Duration) time.Duration {
	d = max(d, 0)
	if rest := d % unit; rest > 0 {
		d -= rest
		if d+unit > d {
			d += unit
		}
	}
	return d
}
