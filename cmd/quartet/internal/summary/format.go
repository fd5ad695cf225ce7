package summary

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Line is the figures of a service on one line, since it started; ran is how
// long that is.
func (s Snapshot) Line(ran time.Duration) string {
	all := s.All()
	rate := 0.0
	if ran > 0 {
		rate = float64(all.OK) / ran.Seconds()
	}
	line := fmt.Sprintf("%6s replies %5.1f/s   own p50 %s p95 %s ms | upstream %s ms  send %s ms  (own share %s)",
		group(all.OK), rate, quantile(all, 0.5), quantile(all, 0.95),
		millis(all.Upstream()), millis(all.Send()), percent(all.OwnShare()))
	if failed := all.Count - all.OK; failed > 0 {
		line += fmt.Sprintf("  %s not ok", group(failed))
	}
	return line
}

// Table writes one row for each operation, and one for all when there are
// several.
func (s Snapshot) Table(w io.Writer) error {
	rows := s
	if len(s) > 1 {
		rows = append(rows[:len(rows):len(rows)], s.All())
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "operation\tcount\tok\town p50 ms\town p95 ms\tupstream ms\tsend ms\town share\t")
	for _, o := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", o.Name, group(o.Count), group(o.OK),
			quantile(o, 0.5), quantile(o, 0.95), millis(o.Upstream()), millis(o.Send()), percent(o.OwnShare()))
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
