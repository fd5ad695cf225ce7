package cats

import "image/color"

// drawHead paints the head around (headX, y).
func (l look) drawHead(c *canvas, y float64) {
	s, x := l.headScale, l.headX
	at := func(dx, dy float64) point { return point{x + dx*s, y + dy*s} }
	oval := func(dx, dy, rx, ry float64) shape { p := at(dx, dy); return ellipse(p.x, p.y, rx*s, ry*s) }
	l.drawEars(c, at, s)
	head := oval(0, 0, 212, 178)
	c.fill(oval(0, 62, 228, 112), l.fur(l.coat))
	c.fill(head, l.fur(l.coat))
	switch l.pattern {
	case tabby:
		for _, dx := range []float64{-60, 0, 60} {
			c.fill(within(stroke(14, 6, at(dx, -180), at(dx*0.7, -92)), head), l.fur(l.dark))
		}
		for _, side := range []float64{-1, 1} {
			for _, dy := range []float64{20, 66} {
				c.fill(stroke(10, 4, curve(at(side*222, dy), at(side*180, dy+16), at(side*135, dy+6))...), l.fur(l.dark))
			}
		}
	case calico:
		c.fill(within(oval(-120, -90, 130, 120), head), l.fur(l.dark))
		c.fill(within(oval(130, -60, 110, 110), head), l.fur(rgb(0xd98a3d)))
	case tuxedo:
		c.fill(within(triangle(at(0, -120), at(-105, 120), at(105, 120), 30*s), head), l.fur(l.light))
	case pointed:
		c.fill(oval(0, 50, 130, 118), l.fur(l.dark))
	}
	l.drawEyes(c, at, oval, s)
	l.drawMuzzle(c, at, oval, s)
	if l.collar {
		c.fill(stroke(20*s, 20*s, curve(at(-140, 158), at(0, 214), at(140, 158))...), plain(mix(l.eyes, rgb(0xb02a3a), 0.6)))
		c.fill(oval(0, 206, 26, 28), plain(rgb(0xf0c040)))
		c.fill(stroke(3, 3, at(-14, 210), at(14, 210)), plain(rgb(0x8a6510)))
	}
}

func (l look) drawEars(c *canvas, at func(dx, dy float64) point, s float64) {
	outer := l.coat
	if l.pattern == pointed {
		outer = l.dark
	}
	for _, side := range []float64{-1, 1} {
		c.fill(triangle(at(side*195, -60), at(side*170, -236), at(side*52, -140), 18*s), l.fur(outer))
		c.fill(triangle(at(side*172, -90), at(side*160, -196), at(side*92, -138), 9*s), plain(mix(rgb(0xf0a6a6), outer, 0.2)))
	}
}

func (l look) drawEyes(c *canvas, at func(dx, dy float64) point, oval func(dx, dy, rx, ry float64) shape, s float64) {
	line := plain(mix(l.dark, rgb(0x101014), 0.7))
	for _, side := range []float64{-1, 1} {
		if l.asleep {
			c.fill(stroke(7*s, 7*s, curve(at(side*128, -14), at(side*88, 24), at(side*48, -10))...), line)
			continue
		}
		c.fill(oval(side*88, -12, 56, 54), line)
		c.fill(oval(side*88, -11, 49, 48), func(_, y float64) color.RGBA {
			return mix(l.eyes, rgb(0xffffff), (y-at(0, -40).y)/(150*s))
		})
		c.fill(oval(side*88, -11, 19, 42), plain(rgb(0x0b0b10)))
		c.fill(oval(side*88-15, -30, 12, 13), plain(rgb(0xffffff)))
		c.fill(oval(side*88+14, 8, 6, 6), plain(color.RGBA{255, 255, 255, 190}))
	}
}

func (l look) drawMuzzle(c *canvas, at func(dx, dy float64) point, oval func(dx, dy, rx, ry float64) shape, s float64) {
	pale := mix(l.light, rgb(0xffffff), 0.35)
	if l.pattern == solid || l.pattern == pointed {
		pale = mix(l.coat, l.light, 0.45)
	}
	for _, side := range []float64{-1, 1} {
		c.fill(oval(side*42, 82, 58, 46), l.fur(pale))
	}
	c.fill(oval(0, 118, 34, 28), l.fur(pale))
	ink := plain(mix(l.dark, rgb(0x1a1416), 0.65))
	c.fill(triangle(at(-20, 50), at(20, 50), at(0, 70), 9*s), plain(rgb(0xd9777f)))
	c.fill(stroke(4*s, 4*s, at(0, 74), at(0, 92)), ink)
	for _, side := range []float64{-1, 1} {
		c.fill(stroke(4.5*s, 3*s, curve(at(0, 92), at(side*24, 124), at(side*52, 98))...), ink)
		for i, dy := range []float64{62, 84, 106} {
			end := at(side*(262+float64(i)*4), dy+float64(i-1)*34-10)
			c.fill(stroke(3*s, 1, curve(at(side*72, dy), at(side*170, dy-8), end)...), plain(color.RGBA{250, 250, 250, 225}))
		}
		for _, dot := range []point{{40, 76}, {58, 88}, {44, 98}} {
			c.fill(oval(side*dot.x, dot.y, 3.5, 3.5), ink)
		}
	}
}
