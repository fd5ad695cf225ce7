package sheet

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"quartet/tools/internal/dash"
	"quartet/tools/internal/live"
)

// asker answers every query with the same.
type asker []live.Series

func (a asker) Ask(context.Context, dash.Target, live.Window, live.Choice) ([]live.Series, error) {
	return a, nil
}

const board = `{"title": "Board", "panels": [
	{"type": "timeseries", "title": "Areas", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8}, "targets": [{"expr": "x", "legendFormat": "{{who}}"}],
		"fieldConfig": {"defaults": {"unit": "s", "custom": {"stacking": {"mode": "normal"}}},
			"overrides": [{"matcher": {"id": "byName", "options": "us"}, "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": "#1060c8"}}]}]}},
	{"type": "stat", "title": "Number", "gridPos": {"x": 12, "y": 0, "w": 12, "h": 4}, "targets": [{"expr": "x"}],
		"fieldConfig": {"defaults": {"unit": "s", "thresholds": {"steps": [{"value": null, "color": "#008000"}, {"value": 1, "color": "#e00000"}]}}}}]}`

func TestAreasAreDrawnInTheirColorAndPlace(t *testing.T) {
	img := drawn(t, asker{series("us", 2, 2)})
	blue, red := color.RGBA{0x10, 0x60, 0xc8, 0xff}, color.RGBA{0xe0, 0, 0, 0xff}
	left, right := place(dash.Grid{X: 0, Y: 0, W: 12, H: 8}), place(dash.Grid{X: 12, Y: 0, W: 12, H: 4})
	if n := count(img, left, blue); n < left.Dx()*left.Dy()/3 {
		t.Errorf("%d blue pixels in the panel of areas", n)
	}
	if n := count(img, right, red); n < 50 {
		t.Errorf("%d red pixels of the number that is above its step", n)
	}
	if n := count(img, right, blue); n > 0 {
		t.Errorf("%d blue pixels in the other panel", n)
	}
}

func TestWithoutDataAPanelIsStillDrawn(t *testing.T) {
	img := drawn(t, asker(nil))
	if got := img.Bounds(); got.Dx() != width || got.Dy() != header+8*rowPx+margin {
		t.Errorf("the picture is %v", got)
	}
}

func TestValuesAreWrittenForPeople(t *testing.T) {
	cases := []struct {
		v    float64
		unit string
		want string
	}{
		{0, "s", "0 s"}, {0.00022, "s", "220 µs"}, {0.0028, "s", "2.8 ms"}, {2.6412, "s", "2.64 s"}, {150, "s", "2.5 min"},
		{0.00087, "percentunit", "0.087 %"}, {1, "percentunit", "100 %"},
		{512, "bytes", "512 B"}, {1 << 20, "bytes", "1 MiB"}, {3 << 30, "bytes", "3 GiB"},
		{12, "short", "12"}, {120_000, "short", "120 k"},
	}
	for _, c := range cases {
		if got := show(c.v, c.unit); got != c.want {
			t.Errorf("%v %s: got %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestTicksAreRoundAndReachTheTop(t *testing.T) {
	for _, top := range []float64{0, 0.0003, 0.9, 1, 7.3, 99, 100, 12345} {
		marks := marksFor(top, "short", 4)
		last := marks[len(marks)-1]
		if marks[0] != 0 || last < top*0.999 || len(marks) < 2 || len(marks) > 9 {
			t.Errorf("%v: %v", top, marks)
		}
	}
	if marks := marksFor(70<<20, "bytes", 3); marks[1] != 25<<20 {
		t.Errorf("bytes: %v", marks)
	}
}

func series(who string, values ...float64) live.Series {
	s := live.Series{Labels: map[string]string{"who": who}}
	for i, v := range values {
		s.Points = append(s.Points, live.Point{At: start.Add(time.Duration(i) * time.Minute), Value: v})
	}
	return s
}

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func drawn(t *testing.T, a Asker) image.Image {
	t.Helper()
	b, err := dash.Read([]byte(board))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.png")
	if err := Draw(t.Context(), path, b, a, live.Window{From: start, To: start.Add(time.Minute)}, nil); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func count(img image.Image, r image.Rectangle, c color.RGBA) (n int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if color.RGBAModel.Convert(img.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}
