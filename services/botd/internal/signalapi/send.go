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
	"strconv"
	"strings"

	"quartet/kit/pool"
)

// Outgoing is a message to send.
type Outgoing struct {
	Recipient  string // a group's public id, a uuid or a number
	Text       string // over 2,000 bytes of UTF-8 signal-cli uploads it as a file
	Attachment *Attachment
}

// Attachment is a picture or file of a message.
type Attachment struct {
	ContentType string
	Filename    string // signal-cli tells the type by its extension
	Data        []byte
}

// Receipt is what the server says of a message that it sent.
type Receipt struct {
	Timestamp int64     // milliseconds; with our number it names the message at Signal
	Failed    []Failure // recipients that did not get it
}

// Failure is one recipient whom the message did not reach.
type Failure struct {
	UUID   string `json:"uuid"`
	Reason string `json:"reason"` // IDENTITY_FAILURE, UNREGISTERED_FAILURE, …
}

// ErrOutcomeUnknown marks a send that may have been delivered: the request was
// written, and no answer came or one that leaves it open. It must not be sent
// again blindly.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// Send sends one message and waits until signal-cli has handed it to Signal.
// The server sets no time limit of its own and may never answer: ctx must.
//
// Errors: *AnswerError when the server refused; ErrOutcomeUnknown when the
// message may have gone out, which after some refusals is so too; any other
// error means that it did not.
func (c *Client) Send(ctx context.Context, o Outgoing) (Receipt, error) {
	// The body is not recycled: net/http may still be writing it when the
	// server has answered early.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath("/v2/send").String(), bytes.NewReader(sendBody(c.number, o)))
	if err != nil {
		return Receipt{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	operation := "send"
	if o.Attachment != nil {
		operation = "send_attachment"
	}
	resp, err := c.http.Do(operation, req)
	if err != nil {
		if !errors.Is(err, pool.ErrUnsent) {
			return Receipt{}, fmt.Errorf("send: %w: %w", ErrOutcomeUnknown, err)
		}
		return Receipt{}, fmt.Errorf("send: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		refused := answerError(resp.StatusCode, raw)
		if mayHaveSent(resp.StatusCode) {
			return Receipt{}, fmt.Errorf("send: %w: %w", ErrOutcomeUnknown, refused)
		}
		return Receipt{}, fmt.Errorf("send: %w", refused)
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("send: %w: read the answer: %w", ErrOutcomeUnknown, err)
	}
	receipt, err := parseReceipt(raw)
	if err != nil {
		return Receipt{}, fmt.Errorf("send: %w: %w", ErrOutcomeUnknown, err)
	}
	return receipt, nil
}

// mayHaveSent reports whether the message may have gone out in spite of the
// status. Signal limits the rate of messages that it delivers all the same,
// and what stands between us and the server answers 5xx for itself.
func mayHaveSent(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// sendBody is the JSON body of POST /v2/send. It is written by hand for the
// picture's sake: encoding/json would copy its base64 twice more.
func sendBody(number string, o Outgoing) []byte {
	size := 512 + len(o.Text)
	if o.Attachment != nil {
		size += base64.StdEncoding.EncodedLen(len(o.Attachment.Data))
	}
	b := append(make([]byte, 0, size), `{"number":`...)
	b = appendString(b, number)
	b = append(b, `,"recipients":[`...)
	b = appendString(b, o.Recipient)
	b = append(b, `],"message":`...)
	b = appendString(b, o.Text)
	if a := o.Attachment; a != nil {
		b = append(b, `,"base64_attachments":["data:`...)
		b = appendPlain(b, a.ContentType, '/')
		b = append(b, `;filename=`...)
		b = appendPlain(b, a.Filename, '.')
		b = append(b, `;base64,`...)
		b = base64.StdEncoding.AppendEncode(b, a.Data)
		b = append(b, `"]`...)
	}
	// notify_self would add our own account to a group's recipients and come
	// back to us as a frame.
	return append(b, `,"notify_self":false}`...)
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return append(b, quoted...)
}

// appendPlain appends s with everything replaced that has a meaning in the
// head of a data URI, in a JSON string or, but for the slash of a content type,
// in a file name.
func appendPlain(b []byte, s string, also byte) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '+', c == '_', c == also:
			b = append(b, c)
		default:
			b = append(b, '_')
		}
	}
	return b
}

// sent is one element of the answer to POST /v2/send.
type sent struct {
	Timestamp json.RawMessage `json:"timestamp"`
	Errors    struct {
		Recipients []Failure `json:"recipients"`
	} `json:"errors"`
}

// parseReceipt reads both shapes of the answer: releases up to 0.100 return an
// object, later ones an array with one element a call and the recipients that
// failed. The timestamp is a JSON string in both; a number is taken too.
func parseReceipt(raw []byte) (Receipt, error) {
	var all []sent
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &all); err != nil {
			return Receipt{}, fmt.Errorf("read the answer: %w", err)
		}
	} else {
		var one sent
		if err := json.Unmarshal(trimmed, &one); err != nil {
			return Receipt{}, fmt.Errorf("read the answer: %w", err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return Receipt{}, errors.New("read the answer: it is an empty list")
	}
	var r Receipt
	for _, s := range all {
		at, err := strconv.ParseInt(strings.Trim(string(s.Timestamp), `"`), 10, 64)
		if err != nil {
			return Receipt{}, errors.New("read the answer: its timestamp is no number")
		}
		r.Timestamp = at
		r.Failed = append(r.Failed, s.Errors.Recipients...)
	}
	return r, nil
}
