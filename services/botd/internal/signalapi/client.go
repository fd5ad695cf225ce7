// Package signalapi speaks to signal-cli-rest-api: it receives frames over the
// websocket, sends messages, and checks that the server is one that can do both.
//
// The server keeps nothing for a client: a frame that nobody reads at the
// moment it arrives is gone. So this transport cannot press back.
//
//	client.go   the client; can this server serve us?
//	receive.go  the websocket
//	send.go     messages, reactions, typing
//	account.go  groups, keys, our profile, files that were received
//	link.go     becoming another device of an account
package signalapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"quartet/kit/pool"
	"quartet/services/botd/internal/transport"
)

// answerLimit bounds what is read of an answer. The largest expected one is the
// list of accounts.
const answerLimit = 1 << 20

// Options say where the server is and who we are there.
type Options struct {
	URL    *url.URL // base, as http://127.0.0.1:8080
	Number string   // our own number, spelled exactly as registered
}

// Client is one account at one server. It is safe for concurrent use.
type Client struct {
	base   *url.URL
	number string
	http   *pool.Client
	dialer *http.Client // opens websockets, which pool does not
}

var _ transport.Transport = (*Client)(nil)

// New returns a client that makes its calls through calls, and opens its
// websockets like them without a proxy, whatever the environment says.
func New(o Options, calls *pool.Client) *Client {
	return &Client{base: o.URL, number: o.Number, http: calls, dialer: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// Check asks the server for its mode, its version and its accounts. A websocket
// for a number that it does not know is accepted and stays silent for ever, so
// this is asked before one is opened; and it goes through to signal-cli, which
// the server's own health check does not.
func (c *Client) Check(ctx context.Context) ([]transport.Warning, error) {
	var about struct {
		Mode    string `json:"mode"`
		Version string `json:"version"`
	}
	if err := c.get(ctx, "about", "/v1/about", nil, &about); err != nil {
		return nil, err
	}
	warnings := transport.RESTWarnings(about.Version)
	if !strings.HasPrefix(about.Mode, "json-rpc") {
		return warnings, fmt.Errorf("signal-cli-rest-api at %s runs in mode %q, which has no websocket: start it with MODE=json-rpc", c.base.Redacted(), about.Mode)
	}
	accounts, err := c.Accounts(ctx)
	if err != nil {
		return warnings, err
	}
	if !slices.Contains(accounts, c.number) {
		return warnings, &transport.Error{
			Class: transport.ClassAccount,
			Text:  fmt.Sprintf("BOTD_NUMBER is not among the %d accounts of signal-cli-rest-api at %s: register or link it there, or mend the variable", len(accounts), c.base.Redacted()),
		}
	}
	return warnings, nil
}

// get decodes the answer of a GET into out.
func (c *Client) get(ctx context.Context, operation, path string, query url.Values, out any) error {
	u := c.base.JoinPath(path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(operation, req)
	if err != nil {
		return fmt.Errorf("ask signal-cli-rest-api for %s: %w", operation, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return fmt.Errorf("read %s of signal-cli-rest-api: %w", operation, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask signal-cli-rest-api for %s: %w", operation, refused(resp.StatusCode, raw))
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("read %s of signal-cli-rest-api: %w", operation, err)
	}
	return nil
}

// refused reads the server's {"error": …}. Some of its errors are labelled
// text/plain, so the body decides and not its type.
func refused(status int, raw []byte) *transport.Error {
	var body struct {
		Error      string   `json:"error"`
		Challenges []string `json:"challenge_tokens"`
	}
	text := strings.TrimSpace(string(raw))
	if json.Unmarshal(raw, &body) == nil && body.Error != "" {
		text = body.Error
	}
	if text == "" {
		text = http.StatusText(status)
	}
	return &transport.Error{
		Class:      transport.ClassifyREST(status, text),
		Code:       status,
		Text:       text,
		Challenges: slices.DeleteFunc(body.Challenges, func(token string) bool { return token == "" }),
	}
}
