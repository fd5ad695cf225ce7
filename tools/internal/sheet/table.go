package sheet

import (
	"cmp"
	"image"
	"regexp"
	"slices"
	"strings"

	"quartet/tools/internal/dash"
)

// line is one of a table: what it is called after, and a word for each query.
type line struct {
	labels, values []string
	rank           float64 // it is sorted by
}

// table draws a line for each set of labels, and a column for each query.
func (cv *canvas) table(r image.Rectangle, p dash.Panel, answers []answer) {
	labels := labelColumns(p)
	heads := slices.Clone(labels)
	for _, a := range answers {
		heads = append(heads, a.query.Legend)
	}
	wide := r.Dx() / len(heads)
	for i, h := range heads {
		cv.text(r.Min.X+i*wide, r.Min.Y+14, title, faint, h)
	}
	y := r.Min.Y + 36
	for _, l := range tableLines(p, labels, answers) {
		if y > r.Max.Y {
			break
		}
		cv.fill(image.Rect(r.Min.X, y-15, r.Max.X, y-14), grid)
		for i, words := range slices.Concat(l.labels, l.values) {
			cv.text(r.Min.X+i*wide, y, label, ink, cv.fit(label, words, wide-8))
		}
		y += 21
	}
}

// labelColumns are the columns that are no values, in their order.
func labelColumns(p dash.Panel) []string {
	var columns []string
	for _, c := range p.Transformations {
		for name := range c.Options.Index {
			if !strings.HasPrefix(name, "Value") {
				columns = append(columns, name)
			}
		}
		slices.SortFunc(columns, func(a, b string) int { return c.Options.Index[a] - c.Options.Index[b] })
	}
	return columns
}

// tableLines puts together what the answers say of the same labels.
func tableLines(p dash.Panel, labels []string, answers []answer) []*line {
	byLabels := map[string]*line{}
	var all []*line
	for i, a := range answers {
		for _, s := range a.series {
			var words []string
			for _, name := range labels {
				words = append(words, s.Labels[name])
			}
			key := strings.Join(words, "\x00")
			l := byLabels[key]
			if l == nil {
				l = &line{labels: words, values: make([]string, len(answers))}
				byLabels[key], all = l, append(all, l)
			}
			v := s.Points[len(s.Points)-1].Value
			l.values[i] = show(v, unitOf(p, a.query.Legend))
			if len(p.Options.SortBy) > 0 && p.Options.SortBy[0].Name == a.query.Legend && finite(v) {
				l.rank = v
			}
		}
	}
	slices.SortFunc(all, func(a, b *line) int { return cmp.Or(cmp.Compare(b.rank, a.rank), slices.Compare(a.labels, b.labels)) })
	return all
}

// unitOf is the unit that a column was given.
func unitOf(p dash.Panel, column string) string {
	for _, o := range p.Fields.Overrides {
		pattern, _ := o.Matcher.Options.(string)
		if o.Matcher.ID == "byName" && pattern == column || o.Matcher.ID == "byRegexp" && regexp.MustCompile(pattern).MatchString(column) {
			for _, property := range o.Properties {
				if s, ok := property.Value.(string); ok && property.ID == "unit" {
					return s
				}
			}
		}
	}
	return p.Fields.Defaults.Unit
}
