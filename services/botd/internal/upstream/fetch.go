package upstream

import (
	"context"
	"fmt"
	"net/http"

	"quartet/kit/pool"
)

// MaxFetch is how many bytes an answer may have that is no picture, unless a
// request says else.
const MaxFetch = 1 << 20

// FetchRequest is what a Fetcher is to ask.
type FetchRequest struct {
	Method string      // "" is GET. Other methods than GET and HEAD follow no redirect
	URL    string      // http or https, without a user name
	Header http.Header // beside the usual ones; a redirect to another host does not take them along
	Body   []byte

	// Hosts are where URL and each redirect may lead.
	Hosts Hosts

	// MaxBody is how many bytes the answer may have, decompressed. 0 is MaxFetch,
	// and MaxPicture the most.
	MaxBody int64
}

// Fetcher asks hosts of the operator's choice. It asks once: what a host refuses
// or fails to do is the caller's to tell. It is safe for many goroutines, and
// meant to be shared by all: it remembers which hosts are to be left alone.
type Fetcher struct{ courier courier }

// NewFetcher returns a fetcher. http must connect through a Guard and follow no
// redirects itself.
func NewFetcher(userAgent string, http *pool.Client) *Fetcher {
	return &Fetcher{courier{operation: "fetch", userAgent: userAgent, http: http}}
}

// Fetch returns the answer to r. The error is ErrHost, a *StatusError,
// ErrTooLarge, ErrPrivateAddress, or, without a request, a *NotNowError; it has
// nothing of the address but its host, and nothing of what was sent and received.
func (f *Fetcher) Fetch(ctx context.Context, r FetchRequest) ([]byte, error) {
	limit := r.MaxBody
	if limit <= 0 {
		limit = MaxFetch
	}
	body, err := f.courier.fetch(ctx, r, "application/json, text/plain;q=0.9, */*;q=0.1", min(limit, MaxPicture))
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return body, nil
}

// Picture returns the picture that is the answer to r. Beside the errors of
// Fetch there are ErrNotAPicture and ErrTooManyPixels.
func (f *Fetcher) Picture(ctx context.Context, r FetchRequest) (Picture, error) {
	return f.courier.picture(ctx, r)
}
