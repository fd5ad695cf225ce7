package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"

	"quartet/kit/budget"
)

const (
	// maxDecoded is the memory that decoding a picture may take. A JPEG from a
	// telephone, 12 megapixels, takes 36 MiB.
	maxDecoded = 64 << 20
	// minSide is the least that a side is halved to.
	minSide = 64
	quality = 85 // of the JPEG that comes out
)

// ErrNotShrinkable is returned for a picture that cannot be made smaller: of a
// kind that is not read, too large to be decoded, or small already.
var ErrNotShrinkable = errors.New("picture cannot be made smaller")

// Shrinker makes pictures smaller, one at a time.
type Shrinker struct{ turn *budget.Budget }

// NewShrinker returns a shrinker.
func NewShrinker() *Shrinker { return &Shrinker{budget.New("shrink", 1, budget.Options{})} }

// Shrink returns p as a JPEG of at most half its bytes: its sides halved once,
// or as often as that takes. Of an animation the first picture is left, and what
// one could see through is white. ctx bounds the wait for its turn. The error
// is ErrNotShrinkable, or that of a broken picture.
func (s *Shrinker) Shrink(ctx context.Context, p Picture) (Picture, error) {
	if err := s.turn.Take(ctx, 1); err != nil {
		return Picture{}, fmt.Errorf("wait to shrink a picture: %w", err)
	}
	defer s.turn.Give(1)
	small, err := shrink(p)
	if err != nil {
		return Picture{}, fmt.Errorf("shrink a picture: %w", err)
	}
	return small, nil
}

func shrink(p Picture) (Picture, error) {
	if p.ContentType == "image/webp" {
		return Picture{}, fmt.Errorf("%w: WebP is not read", ErrNotShrinkable)
	}
	c, err := p.size()
	if err != nil {
		return Picture{}, err
	}
	if need := int64(c.Width) * int64(c.Height) * pixelCost(p, c.ColorModel); need > maxDecoded {
		return Picture{}, fmt.Errorf("%w: %d by %d would take %d MiB", ErrNotShrinkable, c.Width, c.Height, need>>20)
	}
	whole, _, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		return Picture{}, fmt.Errorf("%w: %w", ErrNotAPicture, err)
	}
	// GIF's first picture may be smaller than its screen, and empty.
	for b := whole.Bounds(); min(b.Dx(), b.Dy()) >= 2*minSide; b = whole.Bounds() {
		whole = halve(whole)
		var out bytes.Buffer
		if err := jpeg.Encode(&out, whole, &jpeg.Options{Quality: quality}); err != nil {
			return Picture{}, err
		}
		if small := turned(out.Bytes(), orientation(p.Data)); len(small) <= len(p.Data)/2 {
			return Picture{ContentType: "image/jpeg", Data: small}, nil
		}
	}
	return Picture{}, fmt.Errorf("%w: it is %d bytes of %d by %d", ErrNotShrinkable, len(p.Data), c.Width, c.Height)
}

// pixelCost is how many bytes the decoder takes for a pixel, at the most.
func pixelCost(p Picture, m color.Model) int64 {
	if _, ok := m.(color.Palette); ok {
		return 1 << interlaced(p)
	}
	channels, cost := int64(3), int64(4)
	switch m {
	case color.NRGBA64Model, color.RGBA64Model:
		cost = 8
	case color.GrayModel:
		channels, cost = 1, 1
	case color.YCbCrModel:
		cost = 3
	case color.RGBAModel: // in a JPEG, made of three planes
		cost = 7
	case color.CMYKModel: // the same with four
		channels, cost = 4, 8
	}
	if p.ContentType == "image/jpeg" && progressive(p.Data) {
		return cost + 4*channels // coefficients are kept to the last scan
	}
	return cost << interlaced(p)
}

// interlaced is 1 for a PNG whose passes are decoded one by one, and then put
// together.
func interlaced(p Picture) int {
	if p.ContentType == "image/png" && len(p.Data) > 28 && p.Data[28] != 0 {
		return 1
	}
	return 0
}

// halve returns a picture of half the sides, each pixel the mean of four.
func halve(whole image.Image) image.Image {
	from := whole.Bounds()
	w, h := from.Dx()/2, from.Dy()/2
	half := image.NewRGBA(image.Rect(0, 0, w, h))
	rows := image.NewRGBA(image.Rect(0, 0, 2*w, 2)) // drawing knows all kinds of pictures
	for y := range h {
		draw.Draw(rows, rows.Rect, image.White, image.Point{}, draw.Src)
		draw.Draw(rows, rows.Rect, whole, from.Min.Add(image.Pt(0, 2*y)), draw.Over)
		above, below := rows.Pix[:rows.Stride], rows.Pix[rows.Stride:]
		out := half.Pix[y*half.Stride:]
		for x := range w {
			for i := range 4 {
				sum := int(above[8*x+i]) + int(above[8*x+4+i]) + int(below[8*x+i]) + int(below[8*x+4+i])
				out[4*x+i] = byte((sum + 2) / 4)
			}
		}
	}
	return half
}
