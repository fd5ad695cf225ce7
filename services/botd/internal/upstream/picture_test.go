package upstream_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"net/http"
	"testing"

	"quartet/services/botd/internal/upstream"
)

// claims is the head of a PNG file that claims a size.
func claims(width, height uint32) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	head = append(binary.BigEndian.AppendUint32(head, height), 8, 6, 0, 0, 0)
	file := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), 13)
	return binary.BigEndian.AppendUint32(append(file, head...), crc32.ChecksumIEEE(head))
}

func TestPicturesAreBoundedInPixels(t *testing.T) {
	small := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White})
	var jpg, g bytes.Buffer
	if err := errors.Join(jpeg.Encode(&jpg, small, nil), gif.Encode(&g, small, nil)); err != nil {
		t.Fatal(err)
	}
	wide := bytes.Clone(g.Bytes())
	copy(wide[6:], "\xff\xff\x01\x00") // 65,535 by 1
	for name, tt := range map[string]struct {
		data []byte
		is   error
	}{
		"a jpeg":                        {data: jpg.Bytes()},
		"a gif":                         {data: g.Bytes()},
		"as many pixels as may be":      {data: claims(10_000, 5_000)},
		"a row more":                    {data: claims(10_000, 5_001), is: upstream.ErrTooManyPixels},
		"a side as long as may be":      {data: claims(upstream.MaxSide, 1)},
		"a pixel more":                  {data: claims(1, upstream.MaxSide+1), is: upstream.ErrTooManyPixels},
		"a bomb":                        {data: claims(60_000, 60_000), is: upstream.ErrTooManyPixels},
		"more than 32 bits can say":     {data: claims(1<<31-1, 1<<31-1), is: upstream.ErrNotAPicture},
		"a wide gif":                    {data: wide, is: upstream.ErrTooManyPixels},
		"a head cut short":              {data: claims(1, 1)[:20], is: upstream.ErrNotAPicture},
		"a jpeg of nothing":             {data: []byte("\xff\xd8\xff\xe0 rubbish"), is: upstream.ErrNotAPicture},
		"a webp":                        {data: []byte(webp(lossy(640, 480)))},
		"a webp that is a bomb":         {data: []byte(webp(canvas(10, 10), lossless(16384, 16384))), is: upstream.ErrTooManyPixels},
		"a webp with an endless canvas": {data: []byte(webp(canvas(1<<24, 1))), is: upstream.ErrTooManyPixels},
		"a webp of nothing":             {data: []byte(webp(chunk("VP8X", "x"))), is: upstream.ErrNotAPicture},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.picture = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(tt.data) }
			_, err := a.cats(t).Random(t.Context())
			if !errors.Is(err, tt.is) {
				t.Errorf("error %v, want %v", err, tt.is)
			}
		})
	}
}

func TestAPictureFromElsewhereIsCheckedToo(t *testing.T) {
	if p, err := upstream.ParsePicture([]byte(png)); err != nil || p.ContentType != "image/png" {
		t.Errorf("%s, %v", p.ContentType, err)
	}
	for _, tt := range []struct {
		data []byte
		is   error
	}{
		{nil, upstream.ErrNotAPicture},
		{[]byte("<svg>"), upstream.ErrNotAPicture},
		{claims(60_000, 60_000), upstream.ErrTooManyPixels},
		{append([]byte(png), make([]byte, upstream.MaxPicture)...), upstream.ErrTooLarge},
	} {
		if _, err := upstream.ParsePicture(tt.data); !errors.Is(err, tt.is) {
			t.Errorf("error %v, want %v", err, tt.is)
		}
	}
}
