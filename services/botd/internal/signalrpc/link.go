package signalrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"quartet/services/botd/internal/transport"
)

// Link makes signal-cli another device of an account of ours. It calls show
// with what has to be scanned, as a QR code, by the device that has the account,
// and returns when that was done. signal-cli gives up after a minute or two.
func (c *Client) Link(ctx context.Context, device string, show func(uri string)) error {
	if device == "" {
		return errors.New("link: no name is given for the device")
	}
	uri, err := c.startLink(ctx)
	if err != nil {
		return fmt.Errorf("link: %w", err)
	}
	show(uri)
	raw, err := c.caller.do(ctx, "finishLink", func(b []byte, id string) []byte {
		b = append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), `,"method":"finishLink","params":{"deviceLinkUri":`...)
		b = transport.AppendString(b, uri)
		b = transport.AppendString(append(b, `,"deviceName":`...), device)
		return append(b, "}}\n"...)
	})
	if err != nil {
		return fmt.Errorf("link: %w", err)
	}
	var linked struct {
		Number string `json:"number"`
	}
	if err := json.Unmarshal(raw, &linked); err != nil {
		return fmt.Errorf("link: %w", unknown(fmt.Errorf("read the answer: %w", err)))
	}
	if c.number != "" && linked.Number != c.number {
		return errors.New("link: an account was linked, but not the one of BOTD_NUMBER: mend the variable")
	}
	return nil
}

// startLink asks for a new code.
func (c *Client) startLink(ctx context.Context) (uri string, err error) {
	raw, err := c.ask(ctx, "startLink")
	if refused, ok := errors.AsType[*transport.Error](err); ok && refused.Code == transport.CodeMethod {
		return "", fmt.Errorf("this signal-cli runs for one account and links no other: start it without --account: %w", err)
	}
	if err != nil {
		return "", err
	}
	var started struct {
		URI string `json:"deviceLinkUri"`
	}
	if err := json.Unmarshal(raw, &started); err != nil {
		return "", fmt.Errorf("read the code: %w", err)
	}
	if started.URI == "" {
		return "", errors.New("signal-cli gave an empty code")
	}
	return started.URI, nil
}
