package sheet

import (
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"slices"
)

// write writes the picture with at most 256 colours, which makes it small.
func (cv *canvas) write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(f, reduce(cv.img)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// reduce takes the most frequent colours, and for the others the nearest.
func reduce(img *image.RGBA) *image.Paletted {
	count := map[color.RGBA]int{}
	for i := 0; i < len(img.Pix); i += 4 {
		count[coarse(img.Pix[i:])]++
	}
	out := image.NewPaletted(img.Bounds(), most(count, 256))
	index := map[color.RGBA]uint8{}
	for c := range count {
		index[c] = uint8(out.Palette.Index(c))
	}
	for i := range out.Pix {
		out.Pix[i] = index[coarse(img.Pix[4*i:])]
	}
	return out
}

// coarse keeps the upper bits, which the eye does not miss in text's edges.
func coarse(p []uint8) color.RGBA {
	step := func(v uint8) uint8 {
		if v >= 0xf4 {
			return v // paper and background stay what they are
		}
		return v &^ 7
	}
	return color.RGBA{step(p[0]), step(p[1]), step(p[2]), 0xff}
}

// most are the n most frequent colours.
func most(count map[color.RGBA]int, n int) color.Palette {
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var p color.Palette
	for _, c := range all[:min(n, len(all))] {
		p = append(p, c)
	}
	return p
}
