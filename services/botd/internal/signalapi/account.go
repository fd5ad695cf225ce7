package signalapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// Leave leaves a group.
func (c *Client) Leave(ctx context.Context, group string) error {
	if group == "" {
		return errors.New("leave: no group is given")
	}
	path := "/v1/groups/" + url.PathEscape(c.number) + "/" + url.PathEscape(envelope.PublicGroupID(group)) + "/quit"
	if _, err := c.post(ctx, "leave", http.MethodPost, path, nil); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}

// Trust takes a person's new key for theirs.
func (c *Client) Trust(ctx context.Context, recipient string) error {
	if err := element(recipient); err != nil {
		return fmt.Errorf("trust: the recipient %w", err)
	}
	path := "/v1/identities/" + url.PathEscape(c.number) + "/trust/" + url.PathEscape(recipient)
	if _, err := c.post(ctx, "trust", http.MethodPut, path, []byte(`{"trust_all_known_keys":true}`)); err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	return nil
}

// SetProfile says who we are. Without a picture the server takes away the one
// that we have.
func (c *Client) SetProfile(ctx context.Context, p transport.Profile) error {
	if p.Name == "" {
		return errors.New("set the profile: no name is given")
	}
	b := transport.AppendString([]byte(`{"name":`), p.Name)
	if p.About != "" {
		b = transport.AppendString(append(b, `,"about":`...), p.About)
	}
	if p.Avatar != nil {
		a, err := loaded(p.Avatar)
		if err != nil {
			return fmt.Errorf("set the profile: %w", err)
		}
		b = base64.StdEncoding.AppendEncode(append(b, `,"base64_avatar":"`...), a.Data)
		b = append(b, '"')
	}
	if _, err := c.post(ctx, "set_profile", http.MethodPut, "/v1/profiles/"+url.PathEscape(c.number), append(b, '}')); err != nil {
		return fmt.Errorf("set the profile: %w", err)
	}
	return nil
}

// DeleteAttachment removes what came with a message from the server's disk.
func (c *Client) DeleteAttachment(ctx context.Context, id string) error {
	if err := element(id); err != nil {
		return fmt.Errorf("delete an attachment: its id %w", err)
	}
	_, err := c.post(ctx, "delete_attachment", http.MethodDelete, "/v1/attachments/"+url.PathEscape(id), nil)
	if refused, ok := errors.AsType[*transport.Error](err); ok && refused.Code == http.StatusNotFound && strings.Contains(refused.Text, "No attachment") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete an attachment: %w", err)
	}
	return nil
}

// Accounts lists the numbers that the server has.
func (c *Client) Accounts(ctx context.Context) ([]string, error) {
	var accounts []string
	err := c.get(ctx, "accounts", "/v1/accounts", nil, &accounts)
	return accounts, err
}

// element refuses what would be something else as an element of a path. It may
// be somebody's name, so the error does not have it.
func element(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case s == ".", s == "..", strings.ContainsAny(s, `/\`):
		return errors.New("is one that would lead elsewhere")
	}
	return nil
}
