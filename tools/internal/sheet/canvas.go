package sheet

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

var (
	paper      = color.RGBA{0xff, 0xff, 0xff, 0xff}
	background = color.RGBA{0xf4, 0xf5, 0xf7, 0xff}
	edge       = color.RGBA{0xd8, 0xda, 0xdf, 0xff}
	grid       = color.RGBA{0xe8, 0xea, 0xee, 0xff}
	ink        = color.RGBA{0x20, 0x26, 0x2e, 0xff}
	faint      = color.RGBA{0x68, 0x70, 0x78, 0xff}
)

// palette colours series that were given no colour.
var palette = []color.RGBA{
	{0x1f, 0x78, 0xc1, 0xff}, {0xe0, 0x75, 0x2d, 0xff}, {0x3f, 0x9b, 0x4f, 0xff}, {0xbf, 0x1b, 0x00, 0xff}, {0x80, 0x5a, 0xb0, 0xff},
	{0xcc, 0xa3, 0x00, 0xff}, {0x0a, 0x93, 0x96, 0xff}, {0xb8, 0x4a, 0x8c, 0xff}, {0x6d, 0x6d, 0x6d, 0xff}, {0x7e, 0xb2, 0x6d, 0xff},
}

// size is one of the type sizes.
type size int

const (
	label   size = iota // axes, legends, tables
	title               // of a panel
	heading             // of the board
	large               // a number to be seen from afar
	sizes
)

type canvas struct {
	img   *image.RGBA
	faces [sizes]font.Face
}

func newCanvas(w, h int) (*canvas, error) {
	cv := &canvas{img: image.NewRGBA(image.Rect(0, 0, w, h))}
	for s, f := range map[size]struct {
		ttf    []byte
		points float64
	}{label: {goregular.TTF, 12.5}, title: {gobold.TTF, 13.5}, heading: {gobold.TTF, 22}, large: {gobold.TTF, 38}} {
		parsed, err := opentype.Parse(f.ttf)
		if err != nil {
			return nil, fmt.Errorf("read the font: %w", err)
		}
		if cv.faces[s], err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: f.points, DPI: 72, Hinting: font.HintingFull}); err != nil {
			return nil, fmt.Errorf("make the font: %w", err)
		}
	}
	cv.fill(cv.img.Bounds(), background)
	return cv, nil
}

func (cv *canvas) fill(r image.Rectangle, c color.RGBA) {
	draw.Draw(cv.img, r, image.NewUniform(c), image.Point{}, draw.Src)
}

func (cv *canvas) frame(r image.Rectangle, c color.RGBA) {
	cv.fill(image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+1), c)
	cv.fill(image.Rect(r.Min.X, r.Max.Y-1, r.Max.X, r.Max.Y), c)
	cv.fill(image.Rect(r.Min.X, r.Min.Y, r.Min.X+1, r.Max.Y), c)
	cv.fill(image.Rect(r.Max.X-1, r.Min.Y, r.Max.X, r.Max.Y), c)
}

// text writes with its base line at y.
func (cv *canvas) text(x, y int, s size, c color.RGBA, words string) {
	d := font.Drawer{Dst: cv.img, Src: image.NewUniform(c), Face: cv.faces[s], Dot: fixed.P(x, y)}
	d.DrawString(words)
}

func (cv *canvas) measure(s size, words string) int {
	return font.MeasureString(cv.faces[s], words).Ceil()
}

// fit shortens words to a width.
func (cv *canvas) fit(s size, words string, within int) string {
	if cv.measure(s, words) <= within {
		return words
	}
	letters := []rune(words)
	for len(letters) > 0 && cv.measure(s, string(letters)+"…") > within {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + "…"
}

type point struct{ x, y float32 }

// area fills a polygon.
func (cv *canvas) area(points []point, c color.RGBA) {
	if len(points) < 3 {
		return
	}
	b := cv.img.Bounds()
	z := vector.NewRasterizer(b.Dx(), b.Dy())
	z.MoveTo(points[0].x, points[0].y)
	for _, p := range points[1:] {
		z.LineTo(p.x, p.y)
	}
	z.ClosePath()
	z.Draw(cv.img, b, image.NewUniform(c), image.Point{})
}

// line draws from point to point, two pixels wide.
func (cv *canvas) line(points []point, c color.RGBA) {
	const half = 0.9
	b := cv.img.Bounds()
	z := vector.NewRasterizer(b.Dx(), b.Dy())
	for i := 1; i < len(points); i++ {
		p, q := points[i-1], points[i]
		nx, ny := normal(p, q, half)
		z.MoveTo(p.x+nx, p.y+ny)
		z.LineTo(q.x+nx, q.y+ny)
		z.LineTo(q.x-nx, q.y-ny)
		z.LineTo(p.x-nx, p.y-ny)
		z.ClosePath()
	}
	z.Draw(cv.img, b, image.NewUniform(c), image.Point{})
}

// hex reads #rrggbb, and takes ink for what is no such thing.
func hex(s string) color.RGBA {
	if len(s) == 7 && s[0] == '#' {
		if v, err := strconv.ParseUint(s[1:], 16, 32); err == nil {
			return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff}
		}
	}
	return ink
}
