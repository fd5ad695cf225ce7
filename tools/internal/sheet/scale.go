package sheet

import (
	"fmt"
	"math"
	"strings"
)

// ticks are round values from 0 to at least top, about n of them.
func ticks(top float64, n int) []float64 {
	if top <= 0 || math.IsNaN(top) || math.IsInf(top, 0) {
		top = 1
	}
	raw := top / float64(n)
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	step := base * 10
	for _, m := range []float64{1, 2, 2.5, 5} {
		if base*m >= raw*0.999 {
			step = base * m
			break
		}
	}
	all := []float64{0}
	for i := 1; all[len(all)-1] < top*0.999; i++ {
		all = append(all, float64(i)*step)
	}
	return all
}

// marksFor are ticks that are round in a unit: bytes count by 1,024.
func marksFor(top float64, unit string, n int) []float64 {
	if unit != "bytes" || top < 1024 {
		return ticks(top, n)
	}
	scale := math.Pow(1024, math.Floor(math.Log(top)/math.Log(1024)))
	all := ticks(top/scale, n)
	for i := range all {
		all[i] *= scale
	}
	return all
}

// show writes a value with its unit as a person reads it.
func show(v float64, unit string) string {
	if math.IsNaN(v) {
		return "-"
	}
	switch unit {
	case "s":
		switch a := math.Abs(v); {
		case a == 0:
			return "0 s"
		case a < 1e-3:
			return digits(v*1e6) + " µs"
		case a < 1:
			return digits(v*1e3) + " ms"
		case a < 120:
			return digits(v) + " s"
		}
		return digits(v/60) + " min"
	case "percentunit":
		return digits(v*100) + " %"
	case "bytes":
		for _, u := range []string{"B", "KiB", "MiB"} {
			if math.Abs(v) < 1024 {
				return digits(v) + " " + u
			}
			v /= 1024
		}
		return digits(v) + " GiB"
	}
	if math.Abs(v) >= 10_000 {
		return digits(v/1000) + " k"
	}
	return digits(v)
}

// digits keeps three that mean something.
func digits(v float64) string {
	a := math.Abs(v)
	decimals := 3
	switch {
	case a >= 100:
		decimals = 0
	case a >= 10:
		decimals = 1
	case a >= 1:
		decimals = 2
	}
	s := fmt.Sprintf("%.*f", decimals, v)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// normal is what to add to a line's ends for its one side.
func normal(p, q point, half float64) (x, y float32) {
	dx, dy := float64(q.x-p.x), float64(q.y-p.y)
	length := math.Hypot(dx, dy)
	if length == 0 {
		return 0, 0
	}
	return float32(-dy / length * half), float32(dx / length * half)
}
