package sheet

import (
	"image"
	"math"
	"slices"
	"time"

	"quartet/tools/internal/dash"
	"quartet/tools/internal/live"
)

// The space that axes and legends take.
const (
	leftAxis   = 52
	bottomAxis = 18
	legendLine = 17
)

// curves draws lines, or areas that add up.
func (cv *canvas) curves(r image.Rectangle, p dash.Panel, answers []answer, w live.Window) {
	all := collect(p, answers)
	if len(all) == 0 {
		cv.text(r.Min.X, r.Min.Y+30, label, faint, "no data")
		return
	}
	unit := p.Fields.Defaults.Unit
	stack := p.Fields.Defaults.Custom.Stacking.Mode == "normal"
	r.Max.Y -= cv.legend(r, all, unit)
	plot := image.Rect(r.Min.X+leftAxis, r.Min.Y+4, r.Max.X, r.Max.Y-bottomAxis)
	marks := marksFor(reach(p, top(all, stack)), unit, max(2, plot.Dy()/45))
	highest := marks[len(marks)-1]
	y := func(v float64) float32 { return float32(plot.Max.Y) - float32(v/highest)*float32(plot.Dy()) }
	x := func(t time.Time) float32 {
		return float32(plot.Min.X) + float32(t.Sub(w.From))/float32(w.To.Sub(w.From))*float32(plot.Dx())
	}
	for _, m := range marks {
		cv.fill(image.Rect(plot.Min.X, int(y(m)), plot.Max.X, int(y(m))+1), grid)
		words := show(m, unit)
		cv.text(plot.Min.X-6-cv.measure(label, words), int(y(m))+4, label, faint, words)
	}
	cv.times(plot, w)
	if stack {
		cv.stack(all, x, y)
	} else {
		for _, c := range slices.Backward(all) {
			cv.curve(c, x, y)
		}
	}
	cv.thresholds(plot, p, highest, y)
}

// curve draws one line, with a hole where there is no number.
func (cv *canvas) curve(c curve, x func(time.Time) float32, y func(float64) float32) {
	var run []point
	for _, p := range c.points {
		if !finite(p.Value) || len(run) > 0 && x(p.At)-run[len(run)-1].x > 3*step(c.points, x) {
			cv.line(run, c.color)
			run = run[:0]
		}
		if finite(p.Value) {
			run = append(run, point{x(p.At), y(p.Value)})
		}
	}
	cv.line(run, c.color)
}

// step is how far two values lie apart.
func step(points []live.Point, x func(time.Time) float32) float32 {
	least := float32(math.MaxFloat32)
	for i := 1; i < len(points); i++ {
		least = min(least, x(points[i].At)-x(points[i-1].At))
	}
	return least
}

// stack draws areas on each other.
func (cv *canvas) stack(all []curve, x func(time.Time) float32, y func(float64) float32) {
	below := map[int64]float64{}
	for _, c := range all {
		var upper, lower []point
		for _, p := range c.points {
			if !finite(p.Value) {
				continue
			}
			at := p.At.UnixMilli()
			lower = append(lower, point{x(p.At), y(below[at])})
			below[at] += p.Value
			upper = append(upper, point{x(p.At), y(below[at])})
		}
		slices.Reverse(lower)
		cv.area(append(upper, lower...), c.color)
	}
}

// reach is how high a plot goes: over a threshold, when that is near, and else
// so high that there is room to say where it is.
func reach(p dash.Panel, highest float64) float64 {
	if p.Fields.Defaults.Custom.ThresholdsStyle.Mode != "dashed" {
		return highest
	}
	for _, s := range p.Fields.Defaults.Thresholds.Steps {
		if s.Value == nil {
			continue
		}
		if *s.Value >= 4*highest {
			return 1.3 * highest
		}
		highest = max(highest, *s.Value)
	}
	return highest
}

// thresholds draws the lines that a panel asks for, where they are in sight.
func (cv *canvas) thresholds(plot image.Rectangle, p dash.Panel, highest float64, y func(float64) float32) {
	if p.Fields.Defaults.Custom.ThresholdsStyle.Mode != "dashed" {
		return
	}
	for _, s := range p.Fields.Defaults.Thresholds.Steps {
		if s.Value == nil {
			continue
		}
		if *s.Value > highest {
			words := "budget " + show(*s.Value, p.Fields.Defaults.Unit) + ": above this scale"
			x := plot.Max.X - cv.measure(label, words) - 4
			cv.fill(image.Rect(x-4, plot.Min.Y+2, plot.Max.X, plot.Min.Y+19), paper)
			cv.text(x, plot.Min.Y+14, label, hex(s.Color), words)
			continue
		}
		at := int(y(*s.Value))
		for x := plot.Min.X; x < plot.Max.X; x += 12 {
			cv.fill(image.Rect(x, at, min(x+7, plot.Max.X), at+2), hex(s.Color))
		}
	}
}

// times writes the clock under a plot.
func (cv *canvas) times(plot image.Rectangle, w live.Window) {
	const words = "15:04:05"
	n := max(2, plot.Dx()/110)
	for i := range n {
		x := plot.Min.X + i*plot.Dx()/n
		cv.fill(image.Rect(x, plot.Max.Y, x+1, plot.Max.Y+4), edge)
		cv.text(x+2, plot.Max.Y+15, label, faint, w.From.Add(w.To.Sub(w.From)*time.Duration(i)/time.Duration(n)).UTC().Format(words))
	}
}
