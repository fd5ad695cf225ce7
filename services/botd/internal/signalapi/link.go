package signalapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"quartet/services/botd/internal/transport"
)

const (
	// linkPoll is how often the accounts are asked for while somebody scans
	// the code, linkTimeout how long that may take.
	linkPoll    = 2 * time.Second
	linkTimeout = 5 * time.Minute
)

var errNotScanned = fmt.Errorf("no new account has come within %s: the code is good for a minute or two; ask for a new one", linkTimeout)

// Link makes the server another device of an account of ours. It calls show
// with what has to be scanned, as a QR code, by the device that has the account,
// and returns when the account is there. The server itself takes the rest of the
// steps and does not tell how they went, so its accounts are watched.
func (c *Client) Link(ctx context.Context, device string, show func(uri string)) error {
	before, err := c.Accounts(ctx)
	if err != nil {
		return fmt.Errorf("link: %w", err)
	}
	if slices.Contains(before, c.number) {
		return errors.New("link: signal-cli-rest-api has our account already")
	}
	uri, err := c.linkURI(ctx, device)
	if err != nil {
		return fmt.Errorf("link: %w", err)
	}
	show(uri)
	if err := c.awaitAccount(ctx, before); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	return nil
}

// linkURI asks for a new code. Versions that give it only as a picture have no
// such path.
func (c *Client) linkURI(ctx context.Context, device string) (string, error) {
	if device == "" {
		return "", errors.New("no name is given for the device")
	}
	name := url.Values{"device_name": {device}}
	var answer struct {
		URI string `json:"device_link_uri"`
	}
	err := c.get(ctx, "link", "/v1/qrcodelink/raw", name, &answer)
	if refused, ok := errors.AsType[*transport.Error](err); ok && refused.Code == http.StatusNotFound {
		picture := c.base.JoinPath("/v1/qrcodelink")
		picture.RawQuery = name.Encode()
		return "", fmt.Errorf("this signal-cli-rest-api gives the code only as a picture: scan the one at %s, or update the server: %w", picture.Redacted(), err)
	}
	if err == nil && answer.URI == "" {
		err = errors.New("signal-cli-rest-api gave an empty code")
	}
	return answer.URI, err
}

// awaitAccount waits until the server has an account that it did not have. A
// server that does not answer for a moment is asked again.
func (c *Client) awaitAccount(ctx context.Context, before []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, linkTimeout, errNotScanned)
	defer cancel()
	tick := time.NewTicker(linkPoll)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), last)
		case <-tick.C:
		}
		var now []string
		if now, last = c.Accounts(ctx); last != nil {
			continue
		}
		for _, number := range now {
			switch {
			case slices.Contains(before, number):
			case number == c.number || c.number == "":
				return nil
			default:
				return errors.New("an account was linked, but not the one of BOTD_NUMBER: mend the variable")
			}
		}
	}
}
