package sheet

import (
	"image"
	"slices"

	"quartet/tools/internal/dash"
)

// bars draws a horizontal bar for each value of the panel's label, made of the
// answers to its queries.
func (cv *canvas) bars(r image.Rectangle, p dash.Panel, answers []answer) {
	names, values, parts := barParts(p, answers)
	left, longest := 30, 0.0
	for _, name := range names {
		left, longest = max(left, cv.measure(title, name)+12), max(longest, sum(values[name]))
	}
	x := r.Min.X
	for _, part := range parts {
		cv.fill(image.Rect(x, r.Max.Y-12, x+11, r.Max.Y-2), part.color)
		cv.text(x+15, r.Max.Y-3, label, ink, part.name)
		x += cv.measure(label, part.name) + 32
	}
	plot := image.Rect(r.Min.X+left, r.Min.Y+6, r.Max.X-70, r.Max.Y-legendLine-8)
	each := plot.Dy() / max(1, len(names))
	thick := min(each-26, 84)
	for i, name := range names {
		y := plot.Min.Y + i*each
		cv.text(r.Min.X, y+7+thick/2, title, ink, name)
		cv.bar(image.Rect(plot.Min.X, y+4, plot.Max.X, y+thick), values[name], parts, longest, p.Fields.Defaults.Unit)
	}
}

// barParts are the names of the bars, the values of each, and what those are.
func barParts(p dash.Panel, answers []answer) (names []string, values map[string][]float64, parts []curve) {
	values = map[string][]float64{}
	for i, a := range answers {
		parts = append(parts, curve{name: a.query.Legend, color: chosen(p, a.query.Legend, palette[i%len(palette)])})
		for _, s := range a.series {
			name := s.Labels[p.Options.XField]
			if values[name] == nil {
				names, values[name] = append(names, name), make([]float64, len(answers))
			}
			if v := s.Points[len(s.Points)-1].Value; finite(v) {
				values[name][i] = v
			}
		}
	}
	slices.Sort(names)
	return names, values, parts
}

// bar draws one bar, its whole behind it, and below it each part in figures,
// also those too small to be seen.
func (cv *canvas) bar(r image.Rectangle, values []float64, parts []curve, longest float64, unit string) {
	from := float64(r.Min.X)
	x := r.Min.X
	for i, v := range values {
		to := from + v/longest*float64(r.Dx())
		cv.fill(image.Rect(int(from), r.Min.Y, max(int(to), int(from)+1), r.Max.Y), parts[i].color)
		if inside := parts[i].name + " " + show(v, unit); cv.measure(title, inside)+12 < int(to-from) {
			cv.text(int(from+to)/2-cv.measure(title, inside)/2, (r.Min.Y+r.Max.Y)/2+5, title, paper, inside)
		}
		words := parts[i].name + " " + show(v, unit) + " (" + show(v/sum(values), "percentunit") + ")"
		cv.fill(image.Rect(x, r.Max.Y+6, x+9, r.Max.Y+15), parts[i].color)
		cv.text(x+13, r.Max.Y+15, label, ink, words)
		x += cv.measure(label, words) + 26
		from = to
	}
	cv.text(int(from)+8, (r.Min.Y+r.Max.Y)/2+5, title, ink, show(sum(values), unit))
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}
