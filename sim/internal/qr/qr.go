// Package qr draws QR codes of a fixed size: version 6, level L, which hold up
// to 134 bytes.
//
// Guarantee: what it draws is a valid code of exactly the bytes given, with the
// quiet zone that readers want.
//
// It does not look for the mask that is easiest to read.
package qr

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
)

// Max is how many bytes fit.
const Max = 134

const (
	side   = 41
	data   = 136 // codewords, in two blocks
	blocks = 2
	checks = 18 // codewords of correction of each block
	quiet  = 4
	scale  = 6 // pixels of a module
)

// Code is a drawn code: true is dark; rows come first.
type Code [side][side]bool

// PNG returns the picture of a code, nil when text is longer than Max.
func PNG(text string) []byte {
	if len(text) > Max {
		return nil
	}
	code := New(text)
	const size = (side + 2*quiet) * scale
	img := image.NewPaletted(image.Rect(0, 0, size, size), color.Palette{color.White, color.Black})
	for y := range size {
		for x := range size {
			row, column := y/scale-quiet, x/scale-quiet
			if row >= 0 && row < side && column >= 0 && column < side && code[row][column] {
				img.SetColorIndex(x, y, 1)
			}
		}
	}
	var out bytes.Buffer
	_ = png.Encode(&out, img) // a buffer takes everything
	return out.Bytes()
}

// New draws the code of a text of at most Max bytes.
func New(text string) *Code {
	c, used := frame()
	c.fill(used, interleave(codewords(text)))
	return c
}

// codewords packs a text: mode, length, bytes, end, padding.
func codewords(text string) []byte {
	words := make([]byte, 0, data)
	last := byte(0x40) // byte mode in the upper half
	for _, b := range append([]byte{byte(len(text))}, text...) {
		words = append(words, last|b>>4)
		last = b << 4
	}
	words = append(words, last)
	for pad := byte(0xec); len(words) < data; pad ^= 0xec ^ 0x11 {
		words = append(words, pad)
	}
	return words
}

// interleave adds correction to the blocks and takes a word of each in turn.
func interleave(words []byte) []byte {
	const each = data / blocks
	out := make([]byte, 0, data+blocks*checks)
	for i := range each {
		for b := range blocks {
			out = append(out, words[b*each+i])
		}
	}
	var correction [blocks][]byte
	for b := range blocks {
		correction[b] = remainder(words[b*each : (b+1)*each])
	}
	for i := range checks {
		for b := range blocks {
			out = append(out, correction[b][i])
		}
	}
	return out
}

// remainder is the Reed-Solomon correction of a block.
func remainder(block []byte) []byte {
	generator := make([]byte, checks) // without its leading 1; highest power first
	generator[checks-1] = 1
	root := byte(1)
	for range checks {
		for j := range generator {
			generator[j] = times(generator[j], root)
			if j+1 < checks {
				generator[j] ^= generator[j+1]
			}
		}
		root = times(root, 2)
	}
	rest := make([]byte, checks)
	for _, b := range block {
		factor := b ^ rest[0]
		copy(rest, rest[1:])
		rest[checks-1] = 0
		for j := range rest {
			rest[j] ^= times(generator[j], factor)
		}
	}
	return rest
}

// times multiplies in the field of 256 elements that QR codes use.
func times(a, b byte) byte {
	var product byte
	for ; b > 0; b >>= 1 {
		if b&1 > 0 {
			product ^= a
		}
		carry := a & 0x80
		if a <<= 1; carry > 0 {
			a ^= 0x1d
		}
	}
	return product
}

// frame draws what is the same in every code, and says where it is.
func frame() (*Code, *Code) {
	var c, used Code
	set := func(row, column int, dark bool) {
		if row >= 0 && row < side && column >= 0 && column < side {
			c[row][column], used[row][column] = dark, true
		}
	}
	for i := range side {
		set(6, i, i%2 == 0)
		set(i, 6, i%2 == 0)
	}
	square := func(row, column, reach int, light int) { // rings around a centre; the one at light is light
		for y := -reach; y <= reach; y++ {
			for x := -reach; x <= reach; x++ {
				ring := max(y, -y, x, -x)
				set(row+y, column+x, ring != light && ring < 4)
			}
		}
	}
	for _, at := range [][2]int{{3, 3}, {3, side - 4}, {side - 4, 3}} {
		square(at[0], at[1], 4, 2)
	}
	square(side-7, side-7, 2, 1)
	const format = 1 << 3 // level L, and mask 0 in the lower bits
	bits := int(format)
	for range 10 {
		bits = bits<<1 ^ (bits>>9)*0x537
	}
	bits = (format<<10 | bits) ^ 0x5412
	for i := range 15 {
		dark := bits>>i&1 > 0
		switch { // beside the finder at the upper left
		case i < 6:
			set(i, 8, dark)
		case i < 8:
			set(i+1, 8, dark)
		case i == 8:
			set(8, 7, dark)
		default:
			set(8, 14-i, dark)
		}
		if i < 8 { // beside the two others
			set(8, side-1-i, dark)
		} else {
			set(side-15+i, 8, dark)
		}
	}
	set(side-8, 8, true)
	return &c, &used
}

// fill writes words in columns of two, up and down from the right, under the mask.
func (c *Code) fill(used *Code, words []byte) {
	i := 0
	for right := side - 1; right > 0; right -= 2 {
		if right == 6 {
			right-- // the column of the timing pattern
		}
		for v := range side {
			row := v
			if (right+1)&2 == 0 {
				row = side - 1 - v
			}
			for column := right; column > right-2; column-- {
				if used[row][column] {
					continue
				}
				dark := i < 8*len(words) && words[i/8]>>(7-i%8)&1 > 0
				c[row][column] = dark != ((row+column)%2 == 0)
				i++
			}
		}
	}
}
