package sheet

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"time"

	"quartet/tools/internal/dash"
	"quartet/tools/internal/live"
)

// bucket is how many took at most bound, and more than the bucket below, by
// time in milliseconds.
type bucket struct {
	bound float64
	at    map[int64]float64
}

const few = 1e-9 // less is what is left of subtracting

// heat draws how many fell into each bucket, over time.
func (cv *canvas) heat(r image.Rectangle, p dash.Panel, answers []answer, w live.Window) {
	buckets, most := apart(answers[0].series)
	if most == 0 {
		cv.text(r.Min.X, r.Min.Y+30, label, faint, "no data")
		return
	}
	plot := image.Rect(r.Min.X+leftAxis, r.Min.Y+4, r.Max.X, r.Max.Y-bottomAxis)
	rows := len(buckets)
	high := func(i int) int { return plot.Max.Y - i*plot.Dy()/rows }
	wide := int(math.Ceil(float64(plot.Dx()) / w.To.Sub(w.From).Seconds())) // a value a second
	for i, b := range buckets {
		if i%max(1, (rows*16+plot.Dy()-1)/plot.Dy()) == 0 {
			words := show(b.bound, p.Fields.Defaults.Unit)
			if math.IsInf(b.bound, 1) {
				words = "more"
			}
			cv.text(plot.Min.X-6-cv.measure(label, words), high(i+1)+5, label, faint, words)
		}
		for at, v := range b.at {
			if v > few {
				x := plot.Min.X + int(float64(time.UnixMilli(at).Sub(w.From))/float64(w.To.Sub(w.From))*float64(plot.Dx()))
				cv.fill(image.Rect(x, high(i+1)+1, min(x+wide, plot.Max.X), high(i)), shade(v/most))
			}
		}
	}
	cv.times(plot, w)
}

// apart takes the buckets apart, which come added up, each with those below it.
// It leaves out those at both ends that nothing fell into, but for one, and
// tells the most that fell into one.
func apart(series []live.Series) (buckets []bucket, most float64) {
	for _, s := range series {
		b := bucket{bound: math.Inf(1), at: map[int64]float64{}}
		if v, err := strconv.ParseFloat(s.Labels["le"], 64); err == nil {
			b.bound = v
		}
		for _, q := range s.Points {
			b.at[q.At.UnixMilli()] = q.Value
		}
		buckets = append(buckets, b)
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	first, last := len(buckets), -1
	for i := len(buckets) - 1; i >= 0; i-- {
		for at, v := range buckets[i].at {
			if i > 0 {
				v -= buckets[i-1].at[at]
			}
			buckets[i].at[at] = v
			if v > few {
				first, last, most = min(first, i), max(last, i), max(most, v)
			}
		}
	}
	if most == 0 {
		return nil, 0
	}
	return buckets[max(0, first-1):min(len(buckets), last+2)], most
}

// shade goes from light to dark blue.
func shade(v float64) color.RGBA {
	const shades = 12 // few: the picture has 256 colours in all
	v = math.Ceil(math.Sqrt(min(1, v))*shades) / shades
	mix := func(from, to float64) uint8 { return uint8(from + (to-from)*v) }
	return color.RGBA{mix(214, 8), mix(230, 48), mix(245, 107), 0xff}
}
