package signalrpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"quartet/services/botd/internal/transport"
)

// errNoChat refuses what is for nobody.
var errNoChat = errors.New("no chat is given")

// Send sends one message and waits until signal-cli has handed it to Signal.
// Errors are those of transport.Sender.
func (c *Client) Send(ctx context.Context, o transport.Outgoing) (transport.Receipt, error) {
	file, release, err := c.handOver(ctx, o.Attachment)
	if err != nil {
		return transport.Receipt{}, fmt.Errorf("send: %w", err)
	}
	defer release()
	raw, err := c.doIn(ctx, o.Chat, "send", func(b []byte) []byte {
		b = appendMessage(b, &o)
		if o.Attachment != nil {
			b = append(file(append(b, `,"attachment":[`...)), ']')
		}
		return b
	})
	if err != nil {
		return transport.Receipt{}, fmt.Errorf("send: %w", err)
	}
	receipt, err := readReceipt(raw)
	if err != nil {
		return transport.Receipt{}, fmt.Errorf("send: %w", err)
	}
	return receipt, nil
}

// React sets or takes back a reaction.
func (c *Client) React(ctx context.Context, r transport.Reaction) error {
	raw, err := c.doIn(ctx, r.Chat, "sendReaction", func(b []byte) []byte {
		b = transport.AppendString(append(b, `,"emoji":`...), r.Emoji)
		b = transport.AppendString(append(b, `,"targetAuthor":`...), r.Author)
		b = strconv.AppendInt(append(b, `,"targetTimestamp":`...), r.Timestamp, 10)
		return strconv.AppendBool(append(b, `,"remove":`...), r.Remove)
	})
	if err == nil {
		_, err = readReceipt(raw)
	}
	if err != nil {
		return fmt.Errorf("react: %w", err)
	}
	return nil
}

// Typing shows that we are typing, or no longer are.
func (c *Client) Typing(ctx context.Context, chat transport.Chat, on bool) error {
	_, err := c.doIn(ctx, chat, "sendTyping", func(b []byte) []byte {
		return strconv.AppendBool(append(b, `,"stop":`...), !on)
	})
	if err != nil {
		return fmt.Errorf("show typing: %w", err)
	}
	return nil
}

// doIn makes a call about a chat; more appends the rest of its parameters.
func (c *Client) doIn(ctx context.Context, chat transport.Chat, method string, more func([]byte) []byte) ([]byte, error) {
	name, id := "recipient", chat.User
	if chat.Group != "" {
		name, id = "groupId", chat.Group
	}
	if id == "" {
		return nil, errNoChat
	}
	return c.caller.do(ctx, method, func(b []byte, call string) []byte {
		b = c.appendCall(b, call, method)
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = transport.AppendString(b, id)
		return append(more(b), "}}\n"...)
	})
}

// appendCall appends a call as far as its parameters go on after the account.
// A signal-cli that runs for one account only passes over that.
func (c *Client) appendCall(b []byte, id, method string) []byte {
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	b = append(append(append(b, `,"method":"`...), method...), `","params":{"account":`...)
	return transport.AppendString(b, c.number)
}

// appendMessage appends a message's parameters but its attachment.
func appendMessage(b []byte, o *transport.Outgoing) []byte {
	b = transport.AppendString(append(b, `,"message":`...), o.Text)
	b = appendMentions(b, `,"mention":`, o.Mentions)
	if q := o.Quote; q != nil {
		b = strconv.AppendInt(append(b, `,"quoteTimestamp":`...), q.Timestamp, 10)
		b = transport.AppendString(append(b, `,"quoteAuthor":`...), q.Author)
		b = transport.AppendString(append(b, `,"quoteMessage":`...), q.Text)
		b = appendMentions(b, `,"quoteMention":`, q.Mentions)
	}
	// notifySelf would add our own account to a group's recipients and come
	// back to us as a frame.
	return append(b, `,"notifySelf":false`...)
}

// appendMentions appends mentions as "start:length:author".
func appendMentions(b []byte, name string, mentions []transport.Mention) []byte {
	for i, m := range mentions {
		if i == 0 {
			b = append(append(b, name...), '[')
		} else {
			b = append(b, ',')
		}
		b = transport.AppendString(b, fmt.Sprintf("%d:%d:%s", m.Start, m.Length, m.Author))
	}
	if len(mentions) > 0 {
		b = append(b, ']')
	}
	return b
}
