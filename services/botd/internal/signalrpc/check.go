package signalrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"quartet/services/botd/internal/transport"
)

// Check asks signal-cli for its version and its accounts.
func (c *Client) Check(ctx context.Context) ([]transport.Warning, error) {
	raw, err := c.ask(ctx, "version")
	if err != nil {
		return nil, err
	}
	var version struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return nil, fmt.Errorf("read version of signal-cli: %w", err)
	}
	warnings := transport.CLIWarnings(version.Version)
	if c.unasked.Load() {
		warnings = append(warnings, transport.Warning{
			Name: "signal_cli_not_manual",
			Text: "signal-cli receives whether we are there or not, and messages are lost while we are not: start it with --receive-mode=manual",
		})
	}
	accounts, err := c.Accounts(ctx)
	if refused, ok := errors.AsType[*transport.Error](err); ok && refused.Code == transport.CodeMethod {
		return append(warnings, transport.Warning{
			Name: "signal_cli_one_account",
			Text: "signal-cli runs for one account and does not tell which one: see that it is ours",
		}), nil
	}
	if err != nil {
		return warnings, err
	}
	if !slices.Contains(accounts, c.number) {
		return warnings, &transport.Error{
			Class: transport.ClassAccount,
			Text:  fmt.Sprintf("our number is not among the %d accounts of signal-cli: register or link it there", len(accounts)),
		}
	}
	return warnings, nil
}

// Accounts lists the numbers that signal-cli has.
func (c *Client) Accounts(ctx context.Context) ([]string, error) {
	raw, err := c.ask(ctx, "listAccounts")
	if err != nil {
		return nil, err
	}
	var accounts []struct {
		Number string `json:"number"`
	}
	if err := json.Unmarshal(raw, &accounts); err != nil {
		return nil, fmt.Errorf("read accounts of signal-cli: %w", err)
	}
	numbers := make([]string, len(accounts))
	for i, a := range accounts {
		numbers[i] = a.Number
	}
	return numbers, nil
}

// ask makes a call that has no parameters.
func (c *Client) ask(ctx context.Context, method string) ([]byte, error) {
	raw, err := c.caller.do(ctx, method, func(b []byte, id string) []byte {
		return fmt.Appendf(b, `{"jsonrpc":"2.0","id":%s,"method":%q}`+"\n", id, method)
	})
	if err != nil {
		return nil, fmt.Errorf("ask signal-cli for %s: %w", method, err)
	}
	return raw, nil
}
