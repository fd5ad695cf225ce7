package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"quartet/kit/pool"
)

// ErrNoPicture is returned when an API answered and had none.
var ErrNoPicture = errors.New("no picture")

const (
	// batch is how many addresses one search asks for. Without a key that is the
	// only number beside one that the API knows.
	batch = 10
	// What is kept of them: how many, how long each may be, and for what time.
	// A picture may be taken down.
	maxSpares = 32
	maxSpare  = 2048 // bytes
	spareTime = time.Hour
)

// CatAPI asks TheCatAPI for pictures of cats. One search finds several, and the
// others are kept for those who ask next.
type CatAPI struct {
	search    string
	key       string // optional
	userAgent string
	asker     asker
	pictures  *Pictures

	mu     sync.Mutex
	spares []string  // guarded by mu; addresses that nobody has had
	found  time.Time // guarded by mu; when the last of them were
}

// NewCatAPI returns a client of the API at base that downloads with pictures.
// key may be empty; it goes into a header, never into an address.
func NewCatAPI(base *url.URL, key, userAgent string, api *pool.Client, pictures *Pictures) *CatAPI {
	u := base.JoinPath("/v1/images/search")
	u.RawQuery = fmt.Sprintf("limit=%d&mime_types=jpg,png", batch)
	return &CatAPI{
		search: u.String(), key: key, userAgent: userAgent, pictures: pictures,
		asker: asker{operation: "search", doing: "ask for a cat", api: api},
	}
}

// Random returns a picture of some cat. While the API is to be left alone the
// error is a *NotNowError.
func (c *CatAPI) Random(ctx context.Context) (Picture, error) {
	address := c.spare(time.Now())
	if address == "" {
		found, err := c.find(ctx)
		if err != nil {
			return Picture{}, err
		}
		address = found[0]
		c.keep(found[1:], time.Now())
	}
	return c.pictures.Get(ctx, address)
}

// spare takes one of the addresses that are kept, "" if there is none.
func (c *CatAPI) spare(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.found) > spareTime {
		c.spares = nil
	}
	if len(c.spares) == 0 {
		return ""
	}
	address := c.spares[0]
	c.spares = c.spares[1:]
	return address
}

func (c *CatAPI) keep(addresses []string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = now
	c.spares = append(c.spares, addresses[:min(len(addresses), maxSpares-len(c.spares))]...)
}

// find returns the addresses of some cats' pictures, one at least.
func (c *CatAPI) find(ctx context.Context) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.search, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	if c.key != "" {
		req.Header.Set("X-Api-Key", c.key)
	}
	var addresses []string
	err = c.asker.ask(req, func(_ *http.Response, body []byte) error {
		var err error
		addresses, err = readCats(body)
		return err
	})
	return addresses, err
}

// readCats reads the answer to a search.
func readCats(body []byte) ([]string, error) {
	var found []struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	var addresses []string
	for _, f := range found {
		if f.URL != "" && len(f.URL) <= maxSpare {
			addresses = append(addresses, f.URL)
		}
	}
	if len(addresses) == 0 {
		return nil, ErrNoPicture
	}
	return addresses, nil
}
