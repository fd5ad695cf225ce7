package signalrpc

import (
	"context"
	"errors"
	"fmt"

	"quartet/services/botd/internal/transport"
)

// Leave leaves a group. What it could not be told to its members is no matter.
func (c *Client) Leave(ctx context.Context, group string) error {
	_, err := c.doIn(ctx, transport.Chat{Group: group}, "quitGroup", nothing)
	if err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}

// Trust takes a person's new key for theirs.
func (c *Client) Trust(ctx context.Context, recipient string) error {
	_, err := c.doIn(ctx, transport.Chat{User: recipient}, "trust", func(b []byte) []byte {
		return append(b, `,"trustAllKnownKeys":true`...)
	})
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	return nil
}

// nothing appends nothing.
func nothing(b []byte) []byte { return b }

// SetProfile says who we are.
func (c *Client) SetProfile(ctx context.Context, p transport.Profile) error {
	if p.Name == "" {
		return errors.New("set the profile: no name is given")
	}
	avatar, release, err := c.handOver(ctx, p.Avatar)
	if err != nil {
		return fmt.Errorf("set the profile: %w", err)
	}
	defer release()
	_, err = c.caller.do(ctx, "updateProfile", func(b []byte, id string) []byte {
		b = c.appendCall(b, id, "updateProfile")
		b = transport.AppendString(append(b, `,"givenName":`...), p.Name)
		if p.About != "" {
			b = transport.AppendString(append(b, `,"about":`...), p.About)
		}
		if p.Avatar != nil {
			b = avatar(append(b, `,"avatar":`...))
		}
		return append(b, "}}\n"...)
	})
	if err != nil {
		return fmt.Errorf("set the profile: %w", err)
	}
	return nil
}

// DeleteAttachment cannot be done: signal-cli has no call for it, and its files
// are its own.
func (c *Client) DeleteAttachment(context.Context, string) error {
	return fmt.Errorf("delete an attachment: signal-cli has no call for it; start it with --ignore-attachments: %w", errors.ErrUnsupported)
}
