package sheet

import (
	"image"
	"image/color"
	"math"
	"slices"
	"strings"

	"quartet/tools/internal/dash"
	"quartet/tools/internal/live"
)

// curve is a series as it is drawn.
type curve struct {
	name   string
	color  color.RGBA
	points []live.Point
	mean   float64
}

// collect names and colours what was found.
func collect(p dash.Panel, answers []answer) []curve {
	var all []curve
	for _, a := range answers {
		for _, s := range a.series {
			if s.Empty() {
				continue
			}
			c := curve{name: name(a.query, s), points: s.Points, mean: mean(s.Points)}
			c.color = chosen(p, c.name, palette[len(all)%len(palette)])
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b curve) int { return order(p, a.name) - order(p, b.name) })
	return all
}

// name is what a legend calls a series.
func name(t dash.Target, s live.Series) string {
	if t.Legend == "" || t.Legend == "__auto" {
		return "value"
	}
	var pairs []string
	for k, v := range s.Labels {
		pairs = append(pairs, "{{"+k+"}}", v)
	}
	return strings.TrimSpace(strings.NewReplacer(pairs...).Replace(t.Legend))
}

// order is a name's place among those that were given a colour.
func order(p dash.Panel, name string) int {
	for i, o := range p.Fields.Overrides {
		if o.Matcher.ID == "byName" && o.Matcher.Options == name {
			return i
		}
	}
	return len(p.Fields.Overrides)
}

// chosen is the colour that a panel gives to a name.
func chosen(p dash.Panel, name string, otherwise color.RGBA) color.RGBA {
	if i := order(p, name); i < len(p.Fields.Overrides) {
		for _, property := range p.Fields.Overrides[i].Properties {
			if v, ok := property.Value.(map[string]any); ok && property.ID == "color" {
				if s, ok := v["fixedColor"].(string); ok {
					return hex(s)
				}
			}
		}
	}
	return otherwise
}

func mean(points []live.Point) float64 {
	total, n := 0.0, 0
	for _, p := range points {
		if finite(p.Value) {
			total, n = total+p.Value, n+1
		}
	}
	return total / float64(n)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// top is the highest value, of all together when they add up.
func top(all []curve, stack bool) float64 {
	highest, sums := 0.0, map[int64]float64{}
	for _, c := range all {
		for _, p := range c.points {
			if !finite(p.Value) {
				continue
			}
			highest = max(highest, p.Value)
			sums[p.At.UnixMilli()] += p.Value
		}
	}
	if stack {
		for _, v := range sums {
			highest = max(highest, v)
		}
	}
	return highest
}

// legend writes the names, with their means, and returns its height.
func (cv *canvas) legend(r image.Rectangle, all []curve, unit string) int {
	var lines [][]curve
	x := r.Max.X + 1
	for _, c := range all {
		w := cv.measure(label, entry(c, unit)) + 28
		if x+w > r.Max.X {
			lines, x = append(lines, nil), r.Min.X
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], c)
		x += w
	}
	const most = 4
	if len(lines) > most {
		lines = lines[:most]
	}
	y := r.Max.Y - (len(lines)-1)*legendLine - 3
	for _, line := range lines {
		x := r.Min.X
		for _, c := range line {
			cv.fill(image.Rect(x, y-9, x+11, y+1), c.color)
			words := cv.fit(label, entry(c, unit), r.Max.X-x-15)
			cv.text(x+15, y, label, ink, words)
			x += cv.measure(label, words) + 28
		}
		y += legendLine
	}
	return len(lines)*legendLine + 4
}

func entry(c curve, unit string) string {
	return strings.TrimSpace(c.name) + "  " + show(c.mean, unit)
}
