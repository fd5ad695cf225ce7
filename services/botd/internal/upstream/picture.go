package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // DecodeConfig reads these
	_ "image/jpeg"
	_ "image/png"
	"net/http"

	"quartet/kit/pool"
)

// The bounds of one picture. A small file may claim to be enormous, and whoever
// opens it then, on a telephone, pays for it.
const (
	MaxPicture = 8 << 20    // bytes
	MaxPixels  = 50_000_000 // width times height
	MaxSide    = 16_384     // pixels
)

// ErrNotAPicture is returned for a body that is none, whatever its header says.
var ErrNotAPicture = errors.New("not a picture")

// ErrTooLarge is returned for an answer of more bytes than it may have; for a
// picture that is MaxPicture.
var ErrTooLarge = errors.New("too large")

// ErrTooManyPixels is returned for a picture of more than MaxPixels, or with a
// side longer than MaxSide.
var ErrTooManyPixels = errors.New("picture of too many pixels")

// Picture is a downloaded picture. Its data may be in the hands of several, who
// do not change it.
type Picture struct {
	ContentType string // told by its first bytes
	Data        []byte
}

// Extension is the file name extension of the picture's type, with its dot.
func (p Picture) Extension() string { return extensions[p.ContentType] }

// extensions names the types that Signal's clients show.
var extensions = map[string]string{
	"image/jpeg": ".jpg",
	"image/png":  ".png",
	"image/gif":  ".gif",
	"image/webp": ".webp",
}

// Pictures downloads pictures from where an API points. There is no retry: the
// next command gets another picture.
type Pictures struct {
	courier courier
	hosts   Hosts
}

// NewPictures returns a downloader from hosts. http must connect through a Guard
// and follow no redirects itself.
func NewPictures(userAgent string, http *pool.Client, hosts Hosts) *Pictures {
	return &Pictures{courier: courier{operation: "picture", userAgent: userAgent, http: http}, hosts: hosts}
}

// Get downloads the picture at address. The error is a *NotNowError, without a
// request, while its host wants none.
func (p *Pictures) Get(ctx context.Context, address string) (Picture, error) {
	return p.courier.picture(ctx, FetchRequest{URL: address, Hosts: p.hosts})
}

// picture fetches a picture.
func (c *courier) picture(ctx context.Context, r FetchRequest) (Picture, error) {
	data, err := c.fetch(ctx, r, "image/*", MaxPicture)
	if err != nil {
		return Picture{}, fmt.Errorf("download a picture: %w", err)
	}
	p, err := ParsePicture(data)
	if err != nil {
		return Picture{}, fmt.Errorf("download a picture: %w", err)
	}
	return p, nil
}

// ParsePicture takes data for a picture, if it is one of a kind that Signal's
// clients show, and within the bounds.
func ParsePicture(data []byte) (Picture, error) {
	if len(data) > MaxPicture {
		return Picture{}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxPicture)
	}
	p := Picture{ContentType: http.DetectContentType(data), Data: data}
	if extensions[p.ContentType] == "" {
		return Picture{}, fmt.Errorf("%w but %s", ErrNotAPicture, p.ContentType)
	}
	if _, err := p.size(); err != nil {
		return Picture{}, err
	}
	return p, nil
}

// size reads the picture's head. It refuses one that is broken or claims too
// much.
func (p Picture) size() (c image.Config, err error) {
	if p.ContentType == "image/webp" {
		c.Width, c.Height, err = webpSize(p.Data)
	} else {
		c, _, err = image.DecodeConfig(bytes.NewReader(p.Data))
	}
	if err != nil {
		return c, fmt.Errorf("%w: its head: %w", ErrNotAPicture, err)
	}
	if max(c.Width, c.Height) > MaxSide || int64(c.Width)*int64(c.Height) > MaxPixels {
		return c, fmt.Errorf("%w: %d by %d", ErrTooManyPixels, c.Width, c.Height)
	}
	return c, nil
}
