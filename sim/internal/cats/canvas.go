package cats

import (
	"image"
	"image/color"
	"math"
)

// canvas paints shapes given as signed distances, in units of which the
// picture is 1000 wide, with smooth edges.
type canvas struct {
	img    *image.RGBA
	scale  float64 // pixels a unit
	height float64 // in units
}

func newCanvas(width, height int) *canvas {
	scale := float64(width) / 1000
	return &canvas{image.NewRGBA(image.Rect(0, 0, width, height)), scale, float64(height) / scale}
}

// shape is a distance to an edge, negative inside, and a box that holds it.
type shape struct {
	distance       func(x, y float64) float64
	x0, y0, x1, y1 float64
}

// paint says the colour of a point.
type paint func(x, y float64) color.RGBA

func plain(c color.RGBA) paint { return func(_, _ float64) color.RGBA { return c } }

func (c *canvas) fill(s shape, p paint) {
	bounds := c.img.Bounds()
	x0, x1 := max(int((s.x0-2)*c.scale), 0), min(int((s.x1+2)*c.scale)+1, bounds.Dx())
	y0, y1 := max(int((s.y0-2)*c.scale), 0), min(int((s.y1+2)*c.scale)+1, bounds.Dy())
	for py := y0; py < y1; py++ {
		for px := x0; px < x1; px++ {
			x, y := (float64(px)+0.5)/c.scale, (float64(py)+0.5)/c.scale
			cover := 0.5 - s.distance(x, y)*c.scale
			if cover <= 0 {
				continue
			}
			over(c.img.Pix[c.img.PixOffset(px, py):], p(x, y), min(cover, 1))
		}
	}
}

func over(pix []uint8, c color.RGBA, cover float64) {
	a := cover * float64(c.A) / 255
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		pix[i] = uint8(float64(pix[i])*(1-a) + float64(v)*a + 0.5)
	}
	pix[3] = 255
}

func (c *canvas) everything() shape {
	return shape{func(_, _ float64) float64 { return -1e6 }, 0, 0, 1000, c.height}
}

func ellipse(cx, cy, rx, ry float64) shape {
	return shape{func(x, y float64) float64 {
		dx, dy := (x-cx)/rx, (y-cy)/ry
		k := math.Hypot(dx, dy)
		g := math.Hypot(dx/rx, dy/ry)
		if g == 0 {
			return -min(rx, ry)
		}
		return k * (k - 1) / g
	}, cx - rx, cy - ry, cx + rx, cy + ry}
}

type point struct{ x, y float64 }

// stroke is a line through points whose radius goes from r0 to r1.
func stroke(r0, r1 float64, points ...point) shape {
	s := shape{x0: math.Inf(1), y0: math.Inf(1), x1: math.Inf(-1), y1: math.Inf(-1)}
	r := max(r0, r1)
	for _, p := range points {
		s.x0, s.y0, s.x1, s.y1 = min(s.x0, p.x-r), min(s.y0, p.y-r), max(s.x1, p.x+r), max(s.y1, p.y+r)
	}
	n := float64(len(points) - 1)
	s.distance = func(x, y float64) float64 {
		best := math.Inf(1)
		for i := range len(points) - 1 {
			a, b := points[i], points[i+1]
			dx, dy := b.x-a.x, b.y-a.y
			t := min(max(((x-a.x)*dx+(y-a.y)*dy)/(dx*dx+dy*dy), 0), 1)
			radius := r0 + (r1-r0)*(float64(i)+t)/n
			best = min(best, math.Hypot(x-a.x-t*dx, y-a.y-t*dy)-radius)
		}
		return best
	}
	return s
}

// curve returns points of a quadratic Bézier curve.
func curve(a, b, c point) []point {
	const steps = 14
	points := make([]point, 0, steps+1)
	for i := range steps + 1 {
		t := float64(i) / steps
		u := 1 - t
		points = append(points, point{u*u*a.x + 2*u*t*b.x + t*t*c.x, u*u*a.y + 2*u*t*b.y + t*t*c.y})
	}
	return points
}

// triangle has corners rounded by r.
func triangle(a, b, c point, r float64) shape {
	return shape{func(x, y float64) float64 {
		inside, nearest := true, math.Inf(1)
		turn := math.Signbit((b.x-a.x)*(c.y-a.y) - (b.y-a.y)*(c.x-a.x))
		for _, e := range [3][2]point{{a, b}, {b, c}, {c, a}} {
			dx, dy := e[1].x-e[0].x, e[1].y-e[0].y
			px, py := x-e[0].x, y-e[0].y
			if math.Signbit(dx*py-dy*px) != turn {
				inside = false
			}
			t := min(max((px*dx+py*dy)/(dx*dx+dy*dy), 0), 1)
			nearest = min(nearest, math.Hypot(px-t*dx, py-t*dy))
		}
		if inside {
			nearest = -nearest
		}
		return nearest - r
	}, min(a.x, b.x, c.x) - r, min(a.y, b.y, c.y) - r, max(a.x, b.x, c.x) + r, max(a.y, b.y, c.y) + r}
}

// within cuts a shape to what lies in another.
func within(s, limit shape) shape {
	d, l := s.distance, limit.distance
	s.distance = func(x, y float64) float64 { return max(d(x, y), l(x, y)) }
	return s
}

func mix(a, b color.RGBA, t float64) color.RGBA {
	t = min(max(t, 0), 1)
	f := func(x, y uint8) uint8 { return uint8(float64(x)*(1-t) + float64(y)*t + 0.5) }
	return color.RGBA{f(a.R, b.R), f(a.G, b.G), f(a.B, b.B), f(a.A, b.A)}
}

// grain is a number from -1 to 1 that is always the same at a point.
func grain(x, y float64, salt uint32) float64 {
	h := uint32(int32(x*2))*0x9e3779b1 ^ uint32(int32(y*1.2))*0x85ebca77 ^ salt
	h ^= h >> 15
	h *= 0x2c1b3c6d
	h ^= h >> 12
	return float64(h&0xffff)/0x7fff - 1
}
