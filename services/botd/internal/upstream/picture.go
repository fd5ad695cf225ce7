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
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

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

// ErrTooLarge is returned for a picture of more than MaxPicture bytes.
var ErrTooLarge = fmt.Errorf("picture of more than %d bytes", MaxPicture)

// ErrTooManyPixels is returned for a picture of more than MaxPixels, or with a
// side longer than MaxSide.
var ErrTooManyPixels = errors.New("picture of too many pixels")

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

// maxHosts bounds for how many hosts it is remembered that they want no request.
const maxHosts = 64

// Pictures downloads pictures from wherever an API points.
type Pictures struct {
	userAgent string
	http      *pool.Client

	mu   sync.Mutex
	told map[string]*NotNowError // guarded by mu; by host
}

// NewPictures returns a downloader. http must connect through a Guard.
func NewPictures(userAgent string, http *pool.Client) *Pictures {
	return &Pictures{userAgent: userAgent, http: http, told: make(map[string]*NotNowError)}
}

// Get downloads the picture at address. The error is a *NotNowError, without a
// request, while its host wants none.
func (p *Pictures) Get(ctx context.Context, address string) (Picture, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return Picture{}, fmt.Errorf("download a picture: %.100q is no web address", address)
	}
	if err := p.check(u.Host, time.Now()); err != nil {
		return Picture{}, fmt.Errorf("download a picture: %w", err)
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
	if late := postponed(resp); late != nil {
		p.postpone(u.Host, time.Now(), late)
		return Picture{}, fmt.Errorf("download a picture: %w", late)
	}
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
	if err := checkSize(kind, data); err != nil {
		return Picture{}, fmt.Errorf("download a picture: %w", err)
	}
	return Picture{ContentType: kind, Data: data}, nil
}

// check returns a NotNowError while host wants no request.
func (p *Pictures) check(host string, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if told := p.told[host]; told != nil && now.Before(told.Until) {
		return told
	}
	return nil
}

// postpone notes that host wants no request for a time. There is no retry: the
// host is the API's business, and the next command gets another picture.
func (p *Pictures) postpone(host string, now time.Time, late *postponement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.told, func(_ string, told *NotNowError) bool { return !now.Before(told.Until) })
	if len(p.told) < maxHosts || p.told[host] != nil {
		p.told[host] = &NotNowError{Until: now.Add(late.wait), Why: late.why}
	}
}

// checkSize refuses a picture whose head is broken or claims too much. WebP,
// which the standard library does not read, is let through unchecked.
func checkSize(kind string, data []byte) error {
	if kind == "image/webp" {
		return nil
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%w: its head: %w", ErrNotAPicture, err)
	}
	if max(c.Width, c.Height) > MaxSide || int64(c.Width)*int64(c.Height) > MaxPixels {
		return fmt.Errorf("%w: %d by %d", ErrTooManyPixels, c.Width, c.Height)
	}
	return nil
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
