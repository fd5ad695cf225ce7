// Package signalapi speaks to signal-cli-rest-api: it receives frames over the
// websocket, sends messages, and checks that the server is one that can do both.
//
// The server keeps nothing for a client: a frame that nobody reads at the
// moment it arrives is gone. Receive therefore never waits for its caller's
// work, and its callback must not block.
package signalapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"quartet/kit/pool"
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

// New returns a client that makes its calls through calls, and opens its
// websockets like them without a proxy, whatever the environment says.
func New(o Options, calls *pool.Client) *Client {
	return &Client{base: o.URL, number: o.Number, http: calls, dialer: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// Number is our own number.
func (c *Client) Number() string { return c.number }

// Check reports why the server cannot serve us, or nil: it must run in a mode
// that has the websocket, and our number must be among its accounts. A
// websocket for a number that it does not know is accepted and stays silent
// for ever, so this is asked before one is opened.
func (c *Client) Check(ctx context.Context) error {
	var about struct {
		Mode    string `json:"mode"`
		Version string `json:"version"`
	}
	if err := c.get(ctx, "about", "/v1/about", &about); err != nil {
		return err
	}
	if !strings.HasPrefix(about.Mode, "json-rpc") {
		return fmt.Errorf("signal-cli-rest-api at %s runs in mode %q, which has no websocket: start it with MODE=json-rpc", c.base.Redacted(), about.Mode)
	}
	return c.CheckAccount(ctx)
}

// CheckAccount reports why our account cannot be used, or nil. It goes through
// to signal-cli, which the server's own health check does not.
func (c *Client) CheckAccount(ctx context.Context) error {
	var accounts []string
	if err := c.get(ctx, "accounts", "/v1/accounts", &accounts); err != nil {
		return err
	}
	if !slices.Contains(accounts, c.number) {
		return fmt.Errorf("BOTD_NUMBER is not among the %d accounts of signal-cli-rest-api at %s: register or link it there, or mend the variable", len(accounts), c.base.Redacted())
	}
	return nil
}

// get decodes the answer of a GET into out.
func (c *Client) get(ctx context.Context, operation, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(path).String(), nil)
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
		return fmt.Errorf("ask signal-cli-rest-api for %s: %w", operation, answerError(resp.StatusCode, raw))
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("read %s of signal-cli-rest-api: %w", operation, err)
	}
	return nil
}

// An AnswerError is an answer by which the server refused a call.
type AnswerError struct {
	Status int    // HTTP status
	Text   string // the server's words, without the phone numbers in them
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("HTTP status %d: %s", e.Status, e.Text)
}

// phoneNumber is how signal-cli names people in its errors, which are logged.
var phoneNumber = regexp.MustCompile(`\+[0-9]{5,}`)

// answerError reads the server's {"error": …}. Some of its errors are labelled
// text/plain, so the body decides and not its type.
func answerError(status int, raw []byte) *AnswerError {
	var body struct {
		Error string `json:"error"`
	}
	text := ""
	if json.Unmarshal(raw, &body) == nil && body.Error != "" {
		text = body.Error
	} else {
		text = strings.TrimSpace(string(raw))
	}
	if text == "" {
		text = http.StatusText(status)
	}
	const enough = 500
	return &AnswerError{status, fmt.Sprintf("%.*s", enough, phoneNumber.ReplaceAllString(text, "[number]"))}
}
