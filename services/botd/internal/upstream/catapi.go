package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"quartet/kit/pool"
)

// answerLimit bounds an API's answer; one search result is some hundred bytes.
const answerLimit = 1 << 20

// ErrNoPicture is returned when an API answered and had none.
var ErrNoPicture = errors.New("no picture")

// CatAPI asks TheCatAPI for pictures of cats.
type CatAPI struct {
	search    string
	key       string // optional
	userAgent string
	api       *pool.Client
	pictures  *Pictures
}

// NewCatAPI returns a client of the API at base that downloads with pictures.
// key may be empty; it goes into a header, never into an address.
func NewCatAPI(base *url.URL, key, userAgent string, api *pool.Client, pictures *Pictures) *CatAPI {
	u := base.JoinPath("/v1/images/search")
	u.RawQuery = "mime_types=jpg,png"
	return &CatAPI{search: u.String(), key: key, userAgent: userAgent, api: api, pictures: pictures}
}

// Random returns a picture of some cat.
func (c *CatAPI) Random(ctx context.Context) (Picture, error) {
	address, err := c.find(ctx)
	if err != nil {
		return Picture{}, err
	}
	return c.pictures.Get(ctx, address)
}

// find returns the address of some cat's picture.
func (c *CatAPI) find(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.search, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	if c.key != "" {
		req.Header.Set("X-Api-Key", c.key)
	}
	resp, err := c.api.Do("search", req)
	if err != nil {
		return "", fmt.Errorf("ask for a cat: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ask for a cat: HTTP status %d", resp.StatusCode)
	}
	var found []struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, answerLimit)).Decode(&found); err != nil {
		return "", fmt.Errorf("read the cat search: %w", err)
	}
	if len(found) == 0 || found[0].URL == "" {
		return "", fmt.Errorf("ask for a cat: %w", ErrNoPicture)
	}
	return found[0].URL, nil
}
