package upstream_test

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"quartet/services/botd/internal/upstream"
)

// webp is a file of chunks.
func webp(chunks ...string) string {
	body := "WEBP" + strings.Join(chunks, "")
	return "RIFF" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(body)))) + body
}

// chunk is one chunk of a WebP file.
func chunk(kind, body string) string {
	out := kind + string(binary.LittleEndian.AppendUint32(nil, uint32(len(body)))) + body
	return out + strings.Repeat("\x00", len(body)%2)
}

func three(n int) string { return string([]byte{byte(n), byte(n >> 8), byte(n >> 16)}) }

func canvas(w, h int) string { return chunk("VP8X", "\x02\x00\x00\x00"+three(w-1)+three(h-1)) }

func lossy(w, h int) string {
	size := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(w)), uint16(h))
	return chunk("VP8 ", "\x10\x00\x00\x9d\x01\x2a"+string(size)+"rest")
}

func lossless(w, h int) string {
	return chunk("VP8L", "\x2f"+string(binary.LittleEndian.AppendUint32(nil, uint32(w-1)|uint32(h-1)<<14))+"rest!")
}

func frame(w, h int, inside string) string {
	return chunk("ANMF", strings.Repeat("\x00", 6)+three(w-1)+three(h-1)+"\x10\x00\x00\x00"+inside)
}

// encoded are files that a real encoder made, of one pixel.
var encoded = map[string]string{
	"lossy":    "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
	"lossless": "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==",
}

func TestWebPIsMeasured(t *testing.T) {
	type size struct{ w, h int }
	files := map[string]struct {
		file string
		want size
	}{
		"lossy":                             {webp(lossy(640, 480)), size{640, 480}},
		"lossy, to be scaled":               {webp(lossy(640|1<<14, 480|2<<14)), size{640, 480}},
		"lossless":                          {webp(lossless(640, 480)), size{640, 480}},
		"lossless, the greatest":            {webp(lossless(16384, 16384)), size{16384, 16384}},
		"a canvas":                          {webp(canvas(300, 70_000)), size{300, 70_000}},
		"a canvas smaller than its picture": {webp(canvas(1, 1), chunk("ICCP", "odd"), lossy(16383, 9)), size{16383, 9}},
		"an animation":                      {webp(canvas(30, 40), chunk("ANIM", "......"), frame(20, 30, lossless(20, 30)), frame(9, 9, lossy(9, 9))), size{30, 40}},
		"an animation's great frame":        {webp(canvas(30, 40), frame(20, 99, "")), size{30, 99}},
		"a frame's great picture":           {webp(canvas(30, 40), frame(20, 30, chunk("ALPH", "x")+lossless(500, 30))), size{500, 40}},
		"cut short behind its size":         {webp(lossy(640, 480))[:30], size{640, 480}},
	}
	for name, tt := range files {
		t.Run(name, func(t *testing.T) {
			w, h, err := upstream.WebPSize([]byte(tt.file))
			if err != nil || (size{w, h}) != tt.want {
				t.Errorf("%d by %d, %v; want %v", w, h, err, tt.want)
			}
		})
	}
	for name, file := range encoded {
		data, err := base64.StdEncoding.DecodeString(file)
		if err != nil {
			t.Fatal(err)
		}
		if w, h, err := upstream.WebPSize(data); err != nil || w != 1 || h != 1 {
			t.Errorf("%s: %d by %d, %v", name, w, h, err)
		}
	}
}

func TestWebPWithoutASizeIsNone(t *testing.T) {
	for name, file := range map[string]string{
		"nothing": "", "no chunk": webp(), "an unknown one": webp(chunk("EXIF", "xxxxxxxxxx")), "cut short": webp(lossy(9, 9))[:24],
		"no key frame": webp(chunk("VP8 ", "\x11\x00\x00\x9d\x01\x2a\x01\x00\x01\x00")), "no pixels": webp(lossy(0, 9)),
		"no signature": webp(chunk("VP8L", "\x2e\x00\x00\x00\x00")), "another file": "RIFF\x04\x00\x00\x00WAVE",
	} {
		if w, h, err := upstream.WebPSize([]byte(file)); err == nil {
			t.Errorf("%s: %d by %d", name, w, h)
		}
	}
}

func FuzzWebP(f *testing.F) {
	f.Add([]byte(webp(canvas(30, 40), frame(20, 30, lossless(20, 30)))))
	f.Add([]byte(webp(lossy(640, 480))))
	f.Add([]byte(webp(lossless(640, 480))))
	f.Add([]byte(webp("ANMF\xff\xff\xff\xff")))
	f.Fuzz(func(t *testing.T, file []byte) {
		w, h, err := upstream.WebPSize(file)
		if err == nil && (w < 1 || h < 1 || w > 1<<24 || h > 1<<24) {
			t.Errorf("%d by %d", w, h)
		}
		if bigger, higher, err := upstream.WebPSize(slices.Concat(file, []byte(lossy(16383, 1)))); err == nil && len(file) >= 12 && (bigger < w || higher < h) {
			t.Errorf("more chunks made it smaller: %d by %d from %d by %d", bigger, higher, w, h)
		}
	})
}
