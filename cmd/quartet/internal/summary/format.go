package summary

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Line is the figures of a service on one line, since it started; unit is what
// its requests are called. It fits, with a name before it, into 80 columns; other
// outcomes than ok make it longer.
func (s Snapshot) Line(unit string) string {
	all := s.All()
	others := all.otherwise()
	if others != "" {
		others = ", " + others
	}
	return fmt.Sprintf("%6s %s%s  own p50 %s p95 %s | upstream %s  send %s ms",
		group(all.OK), unit, others, quantile(all, 0.5), quantile(all, 0.95), millis(all.Upstream()), millis(all.Send()))
}

// otherwise tells the outcomes that are not ok: "1 refused, 2 timeout".
func (o Operation) otherwise() string {
	var told []string
	for _, outcome := range slices.Sorted(maps.Keys(o.others)) {
		told = append(told, group(o.others[outcome])+" "+outcome)
	}
	return strings.Join(told, ", ")
}

// Table writes one row for each operation, and one for all when there are
// several; times are in milliseconds.
func (s Snapshot) Table(w io.Writer) error {
	rows := s
	if len(s) > 1 {
		rows = append(rows[:len(rows):len(rows)], s.All())
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "operation\tcount\tok\town p50\town p95\tupstream\tsend\town share\totherwise\t")
	for _, o := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", o.Name, group(o.Count), group(o.OK),
			quantile(o, 0.5), quantile(o, 0.95), millis(o.Upstream()), millis(o.Send()), percent(o.OwnShare()), cmp.Or(o.otherwise(), "-"))
	}
	return t.Flush()
}

func quantile(o Operation, q float64) string {
	d, ok := o.OwnQuantile(q)
	if !ok {
		return "-"
	}
	return millis(d)
}

// millis shows a duration in milliseconds, with as many digits as matter.
func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 1:
		return strconv.FormatFloat(ms, 'f', 2, 64)
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return group(uint64(ms + 0.5))
}

func percent(share float64) string {
	p := share * 100
	digits := 0
	switch {
	case p < 0.1:
		digits = 3
	case p < 1:
		digits = 2
	case p < 10:
		digits = 1
	}
	return strconv.FormatFloat(p, 'f', digits, 64) + " %"
}

// group writes thousands with commas.
func group(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
