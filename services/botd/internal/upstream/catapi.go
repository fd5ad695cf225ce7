package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"quartet/kit/pool"
)

// ErrNoPicture is returned when an API answered and had none.
var ErrNoPicture = errors.New("no picture")

// CatAPI asks TheCatAPI for pictures of cats.
type CatAPI struct {
	search    string
	key       string // optional
	userAgent string
	asker     asker
	pictures  *Pictures
}

// NewCatAPI returns a client of the API at base that downloads with pictures.
// key may be empty; it goes into a header, never into an address.
func NewCatAPI(base *url.URL, key, userAgent string, api *pool.Client, pictures *Pictures) *CatAPI {
	u := base.JoinPath("/v1/images/search")
	u.RawQuery = "mime_types=jpg,png"
	return &CatAPI{
		search: u.String(), key: key, userAgent: userAgent, pictures: pictures,
		asker: asker{operation: "search", doing: "ask for a cat", api: api},
	}
}

// Random returns a picture of some cat. While the API is to be left alone the
// error is a *NotNowError.
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
	var found []struct {
		URL string `json:"url"`
	}
	err = c.asker.ask(req, func(_ *http.Response, body []byte) error {
		if err := json.Unmarshal(body, &found); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		if len(found) == 0 || found[0].URL == "" {
			return ErrNoPicture
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return found[0].URL, nil
}
