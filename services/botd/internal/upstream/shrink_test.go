package upstream_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"image/jpeg"
	pngs "image/png"
	"math/rand/v2"
	"net/http"
	"testing"

	"quartet/services/botd/internal/upstream"
)

// noise is a picture that no encoder makes small, brown on its left half.
func noise(w, h int) *image.NRGBA {
	random := rand.New(rand.NewPCG(1, 2))
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = byte(random.Uint32())
	}
	draw.Draw(m, image.Rect(0, 0, w/2, h), image.NewUniform(color.NRGBA{200, 100, 50, 255}), image.Point{}, draw.Src)
	return m
}

// as is m, encoded.
func as(t *testing.T, kind string, m image.Image) upstream.Picture {
	t.Helper()
	var out bytes.Buffer
	var err error
	switch kind {
	case "image/jpeg":
		err = jpeg.Encode(&out, m, &jpeg.Options{Quality: 95})
	case "image/png":
		err = pngs.Encode(&out, m)
	case "image/gif":
		err = gif.Encode(&out, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return upstream.Picture{ContentType: kind, Data: out.Bytes()}
}

func TestPicturesShrinkToHalfTheirBytes(t *testing.T) {
	whole := noise(301, 280)
	gray := image.NewGray(whole.Rect)
	draw.Draw(gray, gray.Rect, whole, image.Point{}, draw.Src)
	few := image.NewPaletted(whole.Rect, palette.Plan9)
	for i := range few.Pix {
		few.Pix[i] = whole.Pix[4*i]
	}
	deep := image.NewNRGBA64(whole.Rect)
	draw.Draw(deep, deep.Rect, whole, image.Point{}, draw.Src)
	for name, p := range map[string]upstream.Picture{
		"a jpeg":       as(t, "image/jpeg", whole),
		"a gray jpeg":  as(t, "image/jpeg", gray),
		"a png":        as(t, "image/png", whole),
		"a deep png":   as(t, "image/png", deep),
		"a gif":        as(t, "image/gif", few),
		"a part of it": as(t, "image/png", whole.SubImage(image.Rect(11, 10, 301, 280))),
	} {
		t.Run(name, func(t *testing.T) {
			before := bytes.Clone(p.Data)
			small, err := upstream.NewShrinker().Shrink(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if len(small.Data) > len(p.Data)/2 || small.ContentType != "image/jpeg" || http.DetectContentType(small.Data) != "image/jpeg" {
				t.Errorf("%d bytes of %s from %d", len(small.Data), small.ContentType, len(p.Data))
			}
			if !bytes.Equal(before, p.Data) {
				t.Error("the picture itself was changed")
			}
			m, err := jpeg.Decode(bytes.NewReader(small.Data))
			if err != nil {
				t.Fatal(err)
			}
			c, _, _ := image.DecodeConfig(bytes.NewReader(p.Data))
			b := m.Bounds()
			if b.Dx() > c.Width/2 || b.Dy() > c.Height/2 || b.Dx() < c.Width/8 || c.Width*b.Dy()/c.Height-b.Dx() > 2 {
				t.Errorf("%v from %d by %d", b, c.Width, c.Height)
			}
		})
	}
}

func TestAShrunkPictureLooksTheSame(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 400, 400)) // the right half can be seen through
	draw.Draw(m, image.Rect(0, 0, 200, 400), image.NewUniform(color.NRGBA{200, 100, 50, 255}), image.Point{}, draw.Src)
	p := as(t, "image/png", m)
	p.Data = append(p.Data, make([]byte, 100_000)...) // or it would be too small to be halved
	small, err := upstream.NewShrinker().Shrink(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := jpeg.Decode(bytes.NewReader(small.Data))
	if err != nil {
		t.Fatal(err)
	}
	if got.Bounds().Dx() != 200 || got.Bounds().Dy() != 200 {
		t.Errorf("%v, want half", got.Bounds())
	}
	for at, want := range map[image.Point]color.RGBA{{50, 100}: {200, 100, 50, 255}, {150, 100}: {255, 255, 255, 255}, {5, 195}: {200, 100, 50, 255}} {
		r, g, b, _ := got.At(at.X, at.Y).RGBA()
		for i, c := range [...]uint32{r, g, b} {
			if w := [...]uint8{want.R, want.G, want.B}[i]; max(int(c>>8), int(w))-min(int(c>>8), int(w)) > 8 {
				t.Errorf("at %v: %v, want %v", at, [...]uint32{r >> 8, g >> 8, b >> 8}, want)
			}
		}
	}
}

// startOfFrame is the head of a JPEG of three colours that claims a size.
func startOfFrame(marker byte, w, h int) []byte {
	head := []byte{0xff, 0xd8, 0xff, marker, 0, 17, 8, byte(h >> 8), byte(h), byte(w >> 8), byte(w), 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0}
	return append(head, 0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0)
}

func TestWhatCannotBeShrunkIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		picture upstream.Picture
		is      error
	}{
		"webp":                         {upstream.Picture{ContentType: "image/webp", Data: []byte(webp(lossy(640, 480)))}, upstream.ErrNotShrinkable},
		"small already":                {as(t, "image/png", noise(120, 500)), upstream.ErrNotShrinkable},
		"more than may be decoded":     {upstream.Picture{ContentType: "image/png", Data: claims(5000, 4000)}, upstream.ErrNotShrinkable},
		"a bomb":                       {upstream.Picture{ContentType: "image/png", Data: claims(60_000, 60_000)}, upstream.ErrTooManyPixels},
		"as much as may be, of a jpeg": {upstream.Picture{ContentType: "image/jpeg", Data: startOfFrame(0xc0, 5000, 4400)}, upstream.ErrNotAPicture}, // there is nothing behind its head
		"the same, progressive":        {upstream.Picture{ContentType: "image/jpeg", Data: startOfFrame(0xc2, 5000, 4400)}, upstream.ErrNotShrinkable},
		"cut short":                    {upstream.Picture{ContentType: "image/png", Data: claims(500, 400)}, upstream.ErrNotAPicture},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := upstream.NewShrinker().Shrink(t.Context(), tt.picture); !errors.Is(err, tt.is) {
				t.Errorf("error %v, want %v", err, tt.is)
			}
		})
	}
}

func TestShrinkingWaitsItsTurn(t *testing.T) {
	s := upstream.NewShrinker()
	release := upstream.TakeTurn(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Shrink(ctx, as(t, "image/png", noise(300, 300))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	release()
	if _, err := s.Shrink(t.Context(), as(t, "image/png", noise(300, 300))); err != nil {
		t.Error(err)
	}
}

func TestACameraThatWasTurnedStaysTurned(t *testing.T) {
	p := as(t, "image/jpeg", noise(300, 400))
	if got := upstream.Orientation(p.Data); got != 1 {
		t.Errorf("%d without a note", got)
	}
	p.Data = upstream.Turned(p.Data, 6)
	small, err := upstream.NewShrinker().Shrink(t.Context(), p)
	if err != nil || upstream.Orientation(small.Data) != 6 {
		t.Errorf("%d, %v", upstream.Orientation(small.Data), err)
	}
	if _, err := jpeg.Decode(bytes.NewReader(small.Data)); err != nil {
		t.Errorf("the note broke it: %v", err)
	}
}

// exif is a JPEG with that note of a camera.
func exif(note string) []byte {
	return append([]byte("\xff\xd8\xff\xe0\x00\x04JF\xff\xe1\x00"+string([]byte{byte(len(note) + 8)})+"Exif\x00\x00"), note...)
}

func TestNotesOfCamerasAreRead(t *testing.T) {
	little := "II*\x00\x08\x00\x00\x00\x02\x00" + "\x0f\x01\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00" + "\x12\x01\x03\x00\x01\x00\x00\x00\x08\x00\x00\x00"
	for name, tt := range map[string]struct {
		file []byte
		want byte
	}{
		"little-endian":       {exif(little), 8},
		"an unknown one":      {exif(little[:30] + "\x09\x00\x00\x00"), 1},
		"cut short":           {exif(little[:25]), 1},
		"far away":            {exif("MM\x00*\xff\xff\xff\xff"), 1},
		"nothing":             {exif(""), 1},
		"no jpeg":             {[]byte(little), 1},
		"a segment too long":  {[]byte("\xff\xd8\xff\xe1\xff\xffExif\x00\x00"), 1},
		"a segment too short": {[]byte("\xff\xd8\xff\xe1\x00\x01Exif\x00\x00"), 1},
		"filling before it":   {append([]byte("\xff\xd8\xff\xff"), exif(little)[3:]...), 8},
	} {
		if got := upstream.Orientation(tt.file); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func FuzzShrink(f *testing.F) {
	var small bytes.Buffer
	_ = jpeg.Encode(&small, image.NewGray(image.Rect(0, 0, 200, 200)), nil)
	f.Add("image/jpeg", upstream.Turned(small.Bytes(), 3))
	f.Add("image/jpeg", startOfFrame(0xc2, 300, 300))
	f.Add("image/png", claims(200, 200))
	f.Add("image/gif", []byte("GIF89a\xff\x00\xff\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	s := upstream.NewShrinker()
	f.Fuzz(func(t *testing.T, kind string, file []byte) {
		if how := upstream.Orientation(file); how < 1 || how > 8 {
			t.Errorf("orientation %d", how)
		}
		c, _, err := image.DecodeConfig(bytes.NewReader(file))
		if err != nil || c.Width*c.Height > 1<<20 {
			return // slow, and bounded elsewhere
		}
		got, err := s.Shrink(t.Context(), upstream.Picture{ContentType: kind, Data: file})
		if err == nil && len(got.Data) > len(file)/2 {
			t.Errorf("%d bytes of %d", len(got.Data), len(file))
		}
	})
}
