package signalapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"quartet/kit/pool"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// Send sends one message and waits until signal-cli has handed it to Signal.
// Errors are those of transport.Sender.
func (c *Client) Send(ctx context.Context, o transport.Outgoing) (transport.Receipt, error) {
	body, err := sendBody(c.number, o)
	if err != nil {
		return transport.Receipt{}, fmt.Errorf("send: %w", err)
	}
	operation := "send"
	if o.Attachment != nil {
		operation = "send_attachment"
	}
	raw, err := c.post(ctx, operation, http.MethodPost, "/v2/send", body)
	if err != nil {
		return transport.Receipt{}, fmt.Errorf("send: %w", err)
	}
	receipt, err := parseReceipt(raw)
	if err != nil {
		return transport.Receipt{}, fmt.Errorf("send: %w: read the answer: %w", transport.ErrOutcomeUnknown, err)
	}
	return receipt, nil
}

// React sets or takes back a reaction.
func (c *Client) React(ctx context.Context, r transport.Reaction) error {
	method := http.MethodPost
	if r.Remove {
		method = http.MethodDelete
	}
	b := transport.AppendString([]byte(`{"recipient":`), recipient(r.Chat))
	b = transport.AppendString(append(b, `,"reaction":`...), r.Emoji)
	b = transport.AppendString(append(b, `,"target_author":`...), r.Author)
	b = strconv.AppendInt(append(b, `,"timestamp":`...), r.Timestamp, 10)
	if _, err := c.post(ctx, "react", method, "/v1/reactions/"+url.PathEscape(c.number), append(b, '}')); err != nil {
		return fmt.Errorf("react: %w", err)
	}
	return nil
}

// Typing shows that we are typing, or no longer are.
func (c *Client) Typing(ctx context.Context, chat transport.Chat, on bool) error {
	method := http.MethodPut
	if !on {
		method = http.MethodDelete
	}
	b := append(transport.AppendString([]byte(`{"recipient":`), recipient(chat)), '}')
	if _, err := c.post(ctx, "typing", method, "/v1/typing-indicator/"+url.PathEscape(c.number), b); err != nil {
		return fmt.Errorf("show typing: %w", err)
	}
	return nil
}

// post makes a call that has an effect and returns the body of a good answer.
// Errors are those of transport.Sender.
func (c *Client) post(ctx context.Context, operation, method, path string, body []byte) ([]byte, error) {
	// The body is not recycled: net/http may still be writing it when the
	// server has answered early.
	req, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(operation, req)
	if errors.Is(err, pool.ErrUnsent) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", transport.ErrOutcomeUnknown, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if resp.StatusCode/100 != 2 {
		return nil, refused(resp.StatusCode, raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: read the answer: %w", transport.ErrOutcomeUnknown, err)
	}
	return raw, nil
}

// recipient spells a chat as the server wants it.
func recipient(chat transport.Chat) string {
	if chat.Group != "" {
		return envelope.PublicGroupID(chat.Group)
	}
	return chat.User
}

// sendBody is the JSON body of POST /v2/send. It is written by hand for the
// picture's sake: encoding/json would copy its base64 twice more.
func sendBody(number string, o transport.Outgoing) ([]byte, error) {
	size := 512 + len(o.Text)
	var attachment *transport.Attachment
	if o.Attachment != nil {
		var err error
		if attachment, err = loaded(o.Attachment); err != nil {
			return nil, err
		}
		size += base64.StdEncoding.EncodedLen(len(attachment.Data))
	}
	b := append(make([]byte, 0, size), `{"number":`...)
	b = transport.AppendString(b, number)
	b = transport.AppendString(append(b, `,"recipients":[`...), recipient(o.Chat))
	b = transport.AppendString(append(b, `],"message":`...), o.Text)
	b = appendMentions(b, `,"mentions":`, o.Mentions)
	if q := o.Quote; q != nil {
		b = strconv.AppendInt(append(b, `,"quote_timestamp":`...), q.Timestamp, 10)
		b = transport.AppendString(append(b, `,"quote_author":`...), q.Author)
		b = transport.AppendString(append(b, `,"quote_message":`...), q.Text)
		b = appendMentions(b, `,"quote_mentions":`, q.Mentions)
	}
	if attachment != nil {
		b = transport.AppendDataURI(append(b, `,"base64_attachments":["`...), attachment)
		b = append(b, `"]`...)
	}
	// notify_self would add our own account to a group's recipients and come
	// back to us as a frame.
	return append(b, `,"notify_self":false}`...), nil
}

// loaded is an attachment with its data, which may have to be read.
func loaded(a *transport.Attachment) (*transport.Attachment, error) {
	if a.Path == "" {
		return a, nil
	}
	data, err := os.ReadFile(a.Path)
	if err != nil {
		return nil, err
	}
	return &transport.Attachment{ContentType: a.ContentType, Filename: filepath.Base(a.Path), Data: data}, nil
}

// appendMentions appends a list of mentions under a name, nothing for none.
func appendMentions(b []byte, name string, mentions []transport.Mention) []byte {
	for i, m := range mentions {
		if i == 0 {
			b = append(append(b, name...), '[')
		} else {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"start":%d,"length":%d,"author":`, m.Start, m.Length)
		b = append(transport.AppendString(b, m.Author), '}')
	}
	if len(mentions) > 0 {
		b = append(b, ']')
	}
	return b
}

// sent is one element of the answer to POST /v2/send.
type sent struct {
	Timestamp json.RawMessage `json:"timestamp"`
	Errors    struct {
		Recipients []struct {
			UUID   string `json:"uuid"`
			Reason string `json:"reason"`
		} `json:"recipients"`
	} `json:"errors"`
}

// parseReceipt reads both shapes of the answer: releases up to 0.100 return an
// object, later ones an array with one element a call and the recipients that
// failed. The timestamp is a JSON string in both; a number is taken too.
func parseReceipt(raw []byte) (transport.Receipt, error) {
	var all []sent
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &all); err != nil {
			return transport.Receipt{}, err
		}
	} else {
		var one sent
		if err := json.Unmarshal(trimmed, &one); err != nil {
			return transport.Receipt{}, err
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return transport.Receipt{}, errors.New("it is an empty list")
	}
	var r transport.Receipt
	for _, s := range all {
		at, err := strconv.ParseInt(strings.Trim(string(s.Timestamp), `"`), 10, 64)
		if err != nil || at <= 0 {
			return transport.Receipt{}, errors.New("its timestamp is none")
		}
		r.Timestamp = at
		for _, f := range s.Errors.Recipients {
			r.Failed = append(r.Failed, transport.Failure{Recipient: f.UUID, Reason: f.Reason})
		}
	}
	return r, nil
}
