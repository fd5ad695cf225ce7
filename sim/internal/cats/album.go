// Package cats draws pictures of cats to serve where a service of real ones
// is simulated.
//
// Guarantee: the picture of an id is always the same, byte for byte, for one
// version of this package and of Go's encoders; what is kept is bounded by
// count and bytes, and no more than two pictures are drawn at the same time.
//
// No photograph, and no other person's drawing, is in it.
package cats

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"sync"
)

// Picture is a cat.
type Picture struct {
	ID            string
	Type          string // image/jpeg or image/png
	Width, Height int
	Bytes         []byte
}

// Info is what is known about a picture without drawing it.
type Info struct {
	ID, Type, Extension string
	Width, Height       int
}

// Range is an inclusive range.
type Range struct{ Min, Max int }

func (r Range) pick(random *rand.Rand) int { return r.Min + random.IntN(r.Max-r.Min+1) }

// Options configure an album.
type Options struct {
	Width    Range // pixels; the height is 0.9 to 1.25 times as much
	JPEG     bool  // no picture is a PNG
	Bytes    Range // pictures that come out smaller are padded up to a size in it, by a comment in the file; {0,0} = never
	MaxCount int   // pictures kept
	MaxBytes int64 // bytes of pictures kept
}

// Album draws and keeps pictures. It is safe for use by several goroutines.
type Album struct {
	o     Options
	draws chan struct{} // one slot a picture that is being drawn

	mu    sync.Mutex
	kept  map[string]*Picture // guarded by mu
	order []string            // guarded by mu; oldest first
	bytes int64               // guarded by mu
}

// NewAlbum makes an empty album.
func NewAlbum(o Options) *Album {
	return &Album{o: o, draws: make(chan struct{}, 2), kept: map[string]*Picture{}}
}

func seedOf(id string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return rand.New(rand.NewPCG(h.Sum64(), 9))
}

// Info tells what the picture of an id will be. One in five is a PNG, where that is allowed.
func (a *Album) Info(id string) Info {
	random := seedOf(id)
	info := Info{ID: id, Type: "image/jpeg", Extension: "jpg"}
	if random.IntN(5) == 0 && !a.o.JPEG {
		info.Type, info.Extension = "image/png", "png"
	}
	info.Width = a.o.Width.pick(random)
	info.Height = info.Width * (90 + random.IntN(36)) / 100
	return info
}

// Get returns the picture of an id. It fails only when ctx ends before it is drawn.
func (a *Album) Get(ctx context.Context, id string) (*Picture, error) {
	if p := a.find(id); p != nil {
		return p, nil
	}
	select {
	case a.draws <- struct{}{}:
		defer func() { <-a.draws }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p := a.find(id); p != nil {
		return p, nil
	}
	p, err := a.draw(id)
	if err == nil {
		a.keep(p)
	}
	return p, err
}

func (a *Album) find(id string) *Picture {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept[id]
}

func (a *Album) keep(p *Picture) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept[p.ID] != nil {
		return
	}
	a.kept[p.ID] = p
	a.order = append(a.order, p.ID)
	a.bytes += int64(len(p.Bytes))
	for len(a.order) > 1 && (len(a.order) > a.o.MaxCount || a.bytes > a.o.MaxBytes) {
		a.bytes -= int64(len(a.kept[a.order[0]].Bytes))
		delete(a.kept, a.order[0])
		a.order = append(a.order[:0], a.order[1:]...)
	}
}

// Sized draws a JPEG file of exactly that many bytes, at least MinSized. It is
// not kept.
func Sized(size int) (*Picture, error) {
	const width, height = 160, 150
	c := newCanvas(width, height)
	newLook(seedOf("sized")).draw(c)
	content, err := encode(c.img, "image/jpeg", size)
	if err != nil {
		return nil, fmt.Errorf("draw cat: %w", err)
	}
	if len(content) != size {
		return nil, fmt.Errorf("draw cat: %d bytes are too few for it", size)
	}
	return &Picture{ID: "sized", Type: "image/jpeg", Width: width, Height: height, Bytes: content}, nil
}

// MinSized is the smallest size that Sized can draw, in bytes.
const MinSized = 20_000

func (a *Album) draw(id string) (*Picture, error) {
	info := a.Info(id)
	random := seedOf(id + "/look")
	c := newCanvas(info.Width, info.Height)
	l := newLook(random)
	l.smooth = info.Type == "image/png"
	l.draw(c)
	content, err := encode(c.img, info.Type, a.o.Bytes.pick(random))
	if err != nil {
		return nil, fmt.Errorf("draw cat %s: %w", id, err)
	}
	return &Picture{ID: id, Type: info.Type, Width: info.Width, Height: info.Height, Bytes: content}, nil
}

// encode writes the file, padded to want bytes where it is smaller.
func encode(img image.Image, kind string, want int) ([]byte, error) {
	var b bytes.Buffer
	if kind == "image/png" {
		encoder := png.Encoder{CompressionLevel: png.BestSpeed}
		if err := encoder.Encode(&b, img); err != nil {
			return nil, err
		}
		return padPNG(b.Bytes(), want), nil
	}
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 86}); err != nil {
		return nil, err
	}
	return padJPEG(b.Bytes(), want), nil
}

// padJPEG puts comment segments after the start marker. A file that lacks less
// than a segment's head gets fill bytes, which may stand before any marker.
func padJPEG(file []byte, want int) []byte {
	const head, most = 4, 65533 // bytes of a segment around its content, and in it
	out := append(make([]byte, 0, max(want, len(file))), file[:2]...)
	missing := want - len(file)
	for ; missing >= head; missing -= head {
		n := min(missing-head, most)
		out = append(out, 0xff, 0xfe, byte((n+2)>>8), byte(n+2))
		out = append(out, bytes.Repeat([]byte{'.'}, n)...)
		missing -= n
	}
	out = append(out, bytes.Repeat([]byte{0xff}, max(missing, 0))...)
	return append(out, file[2:]...)
}

// padPNG puts a private ancillary chunk before the closing one.
func padPNG(file []byte, want int) []byte {
	const end = 12 // bytes of the closing chunk
	n := want - len(file) - 12
	if n <= 0 {
		return file
	}
	chunk := append([]byte("paDd"), bytes.Repeat([]byte{'.'}, n)...)
	out := append(make([]byte, 0, want), file[:len(file)-end]...)
	out = binary.BigEndian.AppendUint32(out, uint32(n))
	out = append(out, chunk...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	return append(out, file[len(file)-end:]...)
}
