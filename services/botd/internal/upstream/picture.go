package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"quartet/kit/pool"
)

// MaxPicture bounds one picture, in bytes.
const MaxPicture = 8 << 20

// ErrNotAPicture is returned for a body that is none, whatever its header says.
var ErrNotAPicture = errors.New("not a picture")

// ErrTooLarge is returned for a picture of more than MaxPicture bytes.
var ErrTooLarge = fmt.Errorf("picture of more than %d bytes", MaxPicture)

// Picture is a downloaded picture.
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

// Pictures downloads pictures from wherever an API points.
type Pictures struct {
	userAgent string
	http      *pool.Client
}

// NewPictures returns a downloader. http must connect through a Guard.
func NewPictures(userAgent string, http *pool.Client) *Pictures {
	return &Pictures{userAgent: userAgent, http: http}
}

// Get downloads the picture at address.
func (p *Pictures) Get(ctx context.Context, address string) (Picture, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return Picture{}, fmt.Errorf("download a picture: %.100q is no web address", address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Picture{}, err
	}
	req.Header.Set("User-Agent", p.userAgent)
	req.Header.Set("Accept", "image/*")
	resp, err := p.http.Do("picture", req)
	if err != nil {
		return Picture{}, fmt.Errorf("download a picture: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Picture{}, fmt.Errorf("download a picture: HTTP status %d", resp.StatusCode)
	}
	if resp.ContentLength > MaxPicture {
		return Picture{}, fmt.Errorf("download a picture: %w", ErrTooLarge)
	}
	data, err := readBody(resp)
	if err != nil {
		return Picture{}, fmt.Errorf("download a picture: %w", err)
	}
	kind := http.DetectContentType(data)
	if extensions[kind] == "" {
		return Picture{}, fmt.Errorf("download a picture: %w but %s", ErrNotAPicture, kind)
	}
	return Picture{ContentType: kind, Data: data}, nil
}

// readBody reads a bounded body, into one piece of the right size when the
// server told it.
func readBody(resp *http.Response) ([]byte, error) {
	if resp.ContentLength >= 0 {
		data := make([]byte, resp.ContentLength)
		if _, err := io.ReadFull(resp.Body, data); err != nil {
			return nil, err
		}
		return data, nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxPicture+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxPicture {
		return nil, ErrTooLarge
	}
	return data, nil
}
