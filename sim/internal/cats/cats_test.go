package cats_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"testing"

	"quartet/sim/internal/cats"
)

func newAlbum() *cats.Album {
	return cats.NewAlbum(cats.Options{Width: cats.Range{Min: 120, Max: 160}, Bytes: cats.Range{Min: 80_000, Max: 90_000}, MaxCount: 4, MaxBytes: 1 << 20})
}

func TestAnIDIsAlwaysTheSameCat(t *testing.T) {
	for i := range 6 {
		id := fmt.Sprint("c", i)
		first, err := newAlbum().Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		second, err := newAlbum().Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes, second.Bytes) {
			t.Errorf("%s differs", id)
		}
	}
}

func TestEveryCatIsAnother(t *testing.T) {
	album := newAlbum()
	seen := map[string]string{}
	for i := range 20 {
		id := fmt.Sprint("c", i)
		p, err := album.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[string(p.Bytes)]; twice {
			t.Errorf("%s looks like %s", id, other)
		}
		seen[string(p.Bytes)] = id
	}
}

func TestPicturesAreWhatTheInfoSays(t *testing.T) {
	album := newAlbum()
	kinds := map[string]int{}
	for i := range 20 {
		id := fmt.Sprint("c", i)
		info := album.Info(id)
		p, err := album.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		decoded, format, err := image.Decode(bytes.NewReader(p.Bytes))
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if "image/"+format != info.Type || decoded.Bounds().Dx() != info.Width || decoded.Bounds().Dy() != info.Height {
			t.Errorf("%s is a %s of %v, want %+v", id, format, decoded.Bounds(), info)
		}
		if n := len(p.Bytes); n < 80_000 || n > 90_000 {
			t.Errorf("%s has %d bytes", id, n)
		}
		kinds[format]++
	}
	if kinds["jpeg"] == 0 || kinds["png"] == 0 {
		t.Errorf("kinds are %v", kinds)
	}
}

func TestAnEndedContextGetsNoNewCat(t *testing.T) {
	album := newAlbum()
	if _, err := album.Get(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := album.Get(ctx, "kept"); err != nil {
		t.Errorf("a kept one needs no drawing: %v", err)
	}
}

func TestASizedPictureHasExactlyItsSize(t *testing.T) {
	least, err := cats.Sized(cats.MinSized)
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int{300 << 10, 8 << 20, cats.MinSized + 1}
	for more := range 12 { // around the borders of one comment in the file, and of two
		sizes = append(sizes, cats.MinSized+65_530+more, cats.MinSized+131_060+more)
	}
	for _, size := range sizes {
		p, err := cats.Sized(size)
		if err != nil || len(p.Bytes) != size {
			t.Fatalf("%d: %v", size, err)
		}
		if img, kind, err := image.Decode(bytes.NewReader(p.Bytes)); err != nil || kind != "jpeg" || img.Bounds().Dx() != least.Width {
			t.Errorf("%d: %s, %v", size, kind, err)
		}
	}
	if _, err := cats.Sized(500); err == nil {
		t.Error("500 bytes were enough")
	}
}

func TestAnAlbumMayBeOfJPEGAlone(t *testing.T) {
	a := cats.NewAlbum(cats.Options{Width: cats.Range{Min: 60, Max: 60}, Bytes: cats.Range{Min: 307_200, Max: 307_200}, JPEG: true, MaxCount: 4, MaxBytes: 1 << 20})
	for i := range 20 {
		id := fmt.Sprint("c", i)
		p, err := a.Get(t.Context(), id)
		if err != nil || p.Type != "image/jpeg" || a.Info(id).Extension != "jpg" || len(p.Bytes) != 307_200 {
			t.Fatalf("%s: %+v, %v", id, a.Info(id), err)
		}
	}
}
