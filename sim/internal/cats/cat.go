package cats

import (
	"image/color"
	"math/rand/v2"
)

// look is everything that makes one cat another.
type look struct {
	coat, light, dark color.RGBA
	eyes, sky, ground color.RGBA
	pattern           pattern
	scene             int
	asleep, collar    bool
	tailRight         bool
	headX, headScale  float64
	salt              uint32
	smooth            bool // no grain: a PNG of it would be ten times the size
	random            *rand.Rand
}

type pattern int

const (
	solid pattern = iota
	tabby
	calico
	tuxedo
	pointed
	patterns
)

func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

// coats are colour, light part, dark part.
var coats = [][3]uint32{
	{0xd98a3d, 0xf7dfb8, 0xa85b1c}, {0x6f7681, 0xc9ced6, 0x474d57}, {0x2f3036, 0xf3f1ec, 0x17181c}, {0xf2ead9, 0xfffaf0, 0xc7b393},
	{0x8a6546, 0xdcc3a4, 0x573b25}, {0xb9a58c, 0xf0e6d6, 0x6b5642}, {0x9aa4b8, 0xe3e8f0, 0x66708a}, {0xc9693a, 0xffe3c4, 0x3a2c28},
}

var (
	eyeColours = []uint32{0x6fae3f, 0xe0a526, 0x3f8fd1, 0x2fa58c, 0xc77b22}
	skies      = []uint32{0xcfe3f2, 0xf6d9c6, 0xd9cdea, 0xf3e3b0, 0xc8e6d4, 0xf0cfd8, 0xb9d3e8}
	grounds    = []uint32{0x8fb07a, 0xb98c66, 0x8a7ca8, 0xc9a24d, 0x5f9a86, 0xb97a8c, 0x6d8aa5}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func newLook(r *rand.Rand) look {
	coat := pick(r, coats)
	return look{
		coat: rgb(coat[0]), light: rgb(coat[1]), dark: rgb(coat[2]), eyes: rgb(pick(r, eyeColours)),
		sky: rgb(pick(r, skies)), ground: rgb(pick(r, grounds)), pattern: pattern(r.IntN(int(patterns))), scene: r.IntN(3),
		asleep: r.IntN(6) == 0, collar: r.IntN(2) == 0, tailRight: r.IntN(2) == 0,
		headX: 500 + float64(r.IntN(61)-30), headScale: 0.92 + r.Float64()*0.16, salt: r.Uint32(), random: r,
	}
}

func (l look) grain(x, y float64) float64 {
	if l.smooth {
		return 0
	}
	return grain(x, y, l.salt)
}

// fur is a colour with grain and a soft light from above.
func (l look) fur(c color.RGBA) paint {
	return func(x, y float64) color.RGBA {
		shade := mix(c, color.RGBA{A: 255}, min(max((y-350)/2600, 0), 0.25))
		if g := l.grain(x, y); g > 0 {
			return mix(shade, l.light, g*0.16)
		} else {
			return mix(shade, l.dark, -g*0.16)
		}
	}
}

// draw paints the whole picture; the cat stands on the ground at 84 % of the height.
func (l look) draw(c *canvas) {
	base := c.height * 0.88
	l.drawScene(c, base-70)
	l.drawBody(c, base)
	l.drawHead(c, base-500)
}

func (l look) drawScene(c *canvas, horizon float64) {
	c.fill(c.everything(), func(x, y float64) color.RGBA {
		if y > horizon {
			return mix(mix(l.ground, rgb(0xffffff), 0.12), l.ground, (y-horizon)/(c.height-horizon+1)+0.08*l.grain(x, y))
		}
		return mix(l.sky, rgb(0xffffff), 0.75*(1-y/horizon)+0.02*l.grain(x, y))
	})
	white := plain(color.RGBA{255, 255, 255, 150})
	switch l.scene {
	case 0: // sun and hills
		c.fill(ellipse(790, 170, 90, 90), plain(color.RGBA{255, 224, 130, 255}))
		c.fill(within(ellipse(220, horizon+40, 420, 190), above(horizon)), plain(mix(l.ground, l.sky, 0.45)))
		c.fill(within(ellipse(800, horizon+60, 380, 240), above(horizon)), plain(mix(l.ground, l.sky, 0.3)))
	case 1: // clouds
		for range 4 {
			x, y := 80+l.random.Float64()*840, 60+l.random.Float64()*horizon*0.35
			for i := range 3 {
				c.fill(ellipse(x+float64(i)*55-55, y+float64(i%2)*-18, 70, 38), white)
			}
		}
	default: // dots on a wall
		for range 26 {
			r := 6 + l.random.Float64()*16
			c.fill(ellipse(l.random.Float64()*1000, l.random.Float64()*(horizon-40), r, r), plain(color.RGBA{255, 255, 255, 110}))
		}
	}
}

func above(y0 float64) shape {
	return shape{func(_, y float64) float64 { return y - y0 }, 0, 0, 1000, y0}
}

func (l look) drawBody(c *canvas, base float64) {
	side := -1.0
	if l.tailRight {
		side = 1
	}
	c.fill(ellipse(500, base+6, 250, 34), plain(color.RGBA{0, 0, 0, 50}))
	tail := curve(point{500 + side*120, base - 60}, point{500 + side*400, base - 20}, point{500 + side*300, base - 330})
	tip := l.coat
	if l.pattern == pointed || l.pattern == tabby {
		tip = l.dark
	}
	c.fill(stroke(46, 30, tail...), l.fur(l.coat))
	c.fill(stroke(34, 30, tail[10:]...), l.fur(tip))
	body := ellipse(500, base-215, 195, 235)
	c.fill(body, l.fur(l.coat))
	l.drawMarks(c, body, base-215)
	if l.pattern != solid && l.pattern != pointed {
		c.fill(ellipse(500, base-190, 98, 165), l.fur(l.light))
	}
	paws := l.light
	if l.pattern == pointed {
		paws = l.dark
	} else if l.pattern == solid {
		paws = l.coat
	}
	for _, x := range []float64{-78, 78} {
		c.fill(stroke(56, 46, point{500 + x, base - 150}, point{500 + x*0.9, base - 30}), l.fur(mix(l.coat, l.dark, 0.12)))
		c.fill(ellipse(500+x*0.9, base-18, 66, 38), l.fur(paws))
		for _, toe := range []float64{-18, 18} {
			c.fill(stroke(3, 3, point{500 + x*0.9 + toe, base - 20}, point{500 + x*0.9 + toe, base + 8}), plain(mix(paws, rgb(0), 0.35)))
		}
	}
}

// drawMarks paints stripes or patches within a part of the cat.
func (l look) drawMarks(c *canvas, part shape, middle float64) {
	switch l.pattern {
	case tabby:
		for i := range 4 {
			y := middle - 130 + float64(i)*80
			for _, s := range []float64{-1, 1} {
				line := curve(point{500 + s*210, y - 20}, point{500 + s*150, y + 20}, point{500 + s*85, y})
				c.fill(within(stroke(17, 5, line...), part), l.fur(l.dark))
			}
		}
	case calico:
		for range 5 {
			x, y := part.x0+l.random.Float64()*(part.x1-part.x0), part.y0+l.random.Float64()*(part.y1-part.y0)
			patch := []color.RGBA{l.dark, rgb(0xd98a3d), rgb(0xfaf3e6)}[l.random.IntN(3)]
			c.fill(within(ellipse(x, y, 60+l.random.Float64()*70, 50+l.random.Float64()*60), part), l.fur(patch))
		}
	}
}
