package jsonrpc

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"quartet/sim/internal/signalnet"
)

// maxFile bounds an attachment given by path, in bytes.
const maxFile = 32 << 20

func (c *conn) send(ctx context.Context, at time.Time, account string, p params) (any, *rpcError) {
	m, err := message(account, p)
	if err != nil {
		return nil, &rpcError{Code: signalnet.CodeUser, Message: err.Error()}
	}
	// A client that goes away does not take its message back.
	out := c.server.net.Send(context.WithoutCancel(ctx), at, m)
	switch {
	case out.Answer == signalnet.Silent:
		return nil, nil
	case out.Answer == signalnet.Cut:
		c.cut(ctx, `{"jsonrpc":"2.0","result":{"timest`)
		return nil, nil
	case out.Failure != nil:
		return nil, c.failed(m, out)
	}
	return map[string]any{"timestamp": out.Timestamp, "results": results(m, out, "SUCCESS", 0)}, nil
}

// failed tells per recipient what happened, as the daemon does also on an error.
func (c *conn) failed(m signalnet.Message, out signalnet.Outcome) *rpcError {
	kind := map[string]string{"429": "RATE_LIMIT_FAILURE", "identity": "IDENTITY_FAILURE", "permanent": "UNREGISTERED_FAILURE", "transient": "NETWORK_FAILURE"}[out.Failure.Class]
	e := &rpcError{Code: out.Failure.Code, Message: out.Failure.Text}
	if kind != "" {
		e.Data = map[string]any{"response": map[string]any{"timestamp": at(out), "results": results(m, out, kind, int(c.server.net.Quirks.Duration("retry_after").Seconds()))}}
	}
	return e
}

func at(out signalnet.Outcome) int64 {
	if out.Timestamp != 0 {
		return out.Timestamp
	}
	return time.Now().UnixMilli()
}

type address struct {
	UUID     *string `json:"uuid"`
	Number   *string `json:"number"`
	Username *string `json:"username"`
}

type result struct {
	Address    address `json:"recipientAddress"`
	Group      string  `json:"groupId,omitempty"`
	Type       string  `json:"type"`
	Token      string  `json:"token,omitempty"`
	RetryAfter int     `json:"retryAfterSeconds,omitempty"`
}

// results tells per recipient what happened; retryAfter goes with a rate limit,
// in seconds.
func results(m signalnet.Message, out signalnet.Outcome, kind string, retryAfter int) []result {
	var list []result
	add := func(to address, group, kind string) {
		r := result{Address: to, Group: group, Type: kind}
		if kind == "RATE_LIMIT_FAILURE" {
			r.RetryAfter = retryAfter
			if out.Failure.Token != nil {
				r.Token = *out.Failure.Token
			}
		}
		list = append(list, r)
	}
	member := "88888888-8888-4888-8888-888888888888"
	for _, g := range m.Groups {
		add(address{UUID: &member}, g, kind)
		if out.Missed != "" {
			gone := out.Missed
			add(address{UUID: &gone}, g, "IDENTITY_FAILURE")
		}
	}
	for i := range m.Recipients {
		if who := m.Recipients[i]; len(m.Groups) == 0 {
			if strings.HasPrefix(who, "+") {
				add(address{Number: &who}, "", kind)
			} else {
				add(address{UUID: &who}, "", kind)
			}
		}
	}
	return list
}

// message checks a call's parameters. The words of the refusals are a guess.
func message(account string, p params) (signalnet.Message, error) {
	m := signalnet.Message{
		Via: "rpc", Number: account, Groups: p.list("groupId"), Text: p.text("message"), QuoteAuthor: p.text("quoteAuthor"),
		QuoteMessage: p.text("quoteMessage"), Sticker: p.text("sticker"), NotifySelf: p.flag("notifySelf", true),
	}
	m.QuoteTimestamp, _ = p.number("quoteTimestamp")
	m.EditTimestamp, _ = p.number("editTimestamp")
	m.Recipients = append(append(p.list("recipient"), p.list("username")...), m.Groups...)
	if p.flag("noteToSelf", false) {
		m.Recipients = append(m.Recipients, account)
	}
	err := checkGroups(m.Groups)
	if err != nil {
		return m, err
	}
	if m.Mentions, err = mentions(p.list("mention")); err != nil {
		return m, err
	}
	if m.Attachments, err = files(p.list("attachment")); err != nil {
		return m, err
	}
	switch {
	case len(m.Recipients) == 0:
		return m, refusal("No recipients given")
	case m.QuoteTimestamp != 0 && m.QuoteAuthor == "":
		return m, refusal("Quote author parameter is missing")
	case m.Text == "" && len(m.Attachments) == 0 && m.Sticker == "" && m.QuoteTimestamp == 0:
		return m, refusal("No message, attachment or sticker given")
	}
	return m, nil
}

func checkGroups(ids []string) error {
	for _, g := range ids {
		if id, err := base64.StdEncoding.DecodeString(g); err != nil || len(id) != 32 {
			return refusal("Invalid group id: " + g)
		}
	}
	return nil
}

// refusal is an error whose words the client reads, with their capitals.
type refusal string

func (r refusal) Error() string { return string(r) }

func badMention(text string) refusal {
	return refusal("Invalid mention syntax (" + text + ") expected 'start:length:recipientNumber'")
}

// mentions reads "start:length:author".
func mentions(texts []string) ([]signalnet.Mention, error) {
	var list []signalnet.Mention
	for _, text := range texts {
		parts := strings.SplitN(text, ":", 3)
		if len(parts) != 3 {
			return nil, badMention(text)
		}
		start, err1 := strconv.Atoi(parts[0])
		length, err2 := strconv.Atoi(parts[1])
		if err1 != nil || err2 != nil {
			return nil, badMention(text)
		}
		list = append(list, signalnet.Mention{Start: start, Length: length, Author: parts[2]})
	}
	return list, nil
}

// files reads attachments given as data URIs or as paths on this machine.
func files(forms []string) ([]signalnet.Attachment, error) {
	list := make([]signalnet.Attachment, 0, len(forms))
	for _, form := range forms {
		name, content, err := file(form)
		if err != nil {
			return nil, refusal("Failed to add attachment: " + err.Error())
		}
		list = append(list, signalnet.NewAttachment(name, content))
	}
	return list, nil
}

func file(form string) (name string, content []byte, err error) {
	if head, data, ok := strings.Cut(form, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		for part := range strings.SplitSeq(head, ";") {
			if value, ok := strings.CutPrefix(part, "filename="); ok {
				name = value
			}
		}
		content, err = base64.StdEncoding.DecodeString(data)
		return name, content, err
	}
	f, err := os.Open(form)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", nil, fmt.Errorf("%s: not a file of at most %d bytes", form, maxFile)
	}
	content, err = io.ReadAll(io.LimitReader(f, maxFile))
	return filepath.Base(form), content, err
}
