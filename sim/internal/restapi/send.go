package restapi

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"quartet/sim/internal/signalnet"
)

type sendRequest struct {
	Number         string              `json:"number"`
	Recipients     []string            `json:"recipients"`
	Recipient      string              `json:"recipient"`
	Message        string              `json:"message"`
	Attachments    []string            `json:"base64_attachments"`
	Sticker        string              `json:"sticker"`
	Mentions       []signalnet.Mention `json:"mentions"`
	QuoteTimestamp *int64              `json:"quote_timestamp"`
	QuoteAuthor    *string             `json:"quote_author"`
	QuoteMessage   *string             `json:"quote_message"`
	QuoteMentions  []signalnet.Mention `json:"quote_mentions"`
	TextMode       *string             `json:"text_mode"`
	EditTimestamp  *int64              `json:"edit_timestamp"`
	NotifySelf     *bool               `json:"notify_self"`
	LinkPreview    *linkPreview        `json:"link_preview"`
	ViewOnce       *bool               `json:"view_once"`
}

type linkPreview struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// send is POST /v2/send.
func (a *API) send(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var req sendRequest
	if !a.decode(w, r, &req) {
		return
	}
	m, err := req.message()
	if err != nil {
		refuse(w, err)
		return
	}
	// A client that goes away does not take its message back.
	out := a.net.Send(serverContext(r), at, m)
	a.hear(r.Context())
	a.tell(w, r, m.Number, out)
}

// message checks a request in the real server's order.
func (q *sendRequest) message() (signalnet.Message, error) {
	if q.Recipient != "" {
		q.Recipients = append(q.Recipients, q.Recipient)
	}
	switch {
	case len(q.Recipients) == 0:
		return signalnet.Message{}, refusal("Couldn't process request - please provide at least one recipient")
	case q.Number == "":
		return signalnet.Message{}, refusal("Couldn't process request - please provide a valid number")
	case q.Sticker != "" && !strings.Contains(q.Sticker, ":"):
		return signalnet.Message{}, refusal("Couldn't process request - please provide valid sticker delimiter")
	case value(q.ViewOnce) && len(q.Attachments) == 0:
		return signalnet.Message{}, refusal("'view_once' can only be set for image attachments!")
	}
	groups, err := groupsOf(q.Recipients)
	if err != nil {
		return signalnet.Message{}, err
	}
	if err := q.checkContent(); err != nil {
		return signalnet.Message{}, err
	}
	files, err := decodeAttachments(q.Attachments)
	if err != nil {
		return signalnet.Message{}, err
	}
	return signalnet.Message{
		Via: "rest", Number: q.Number, Recipients: q.Recipients, Groups: groups, Text: q.Message, Attachments: files,
		QuoteTimestamp: value(q.QuoteTimestamp), QuoteAuthor: value(q.QuoteAuthor), QuoteMessage: value(q.QuoteMessage),
		Mentions: q.Mentions, EditTimestamp: value(q.EditTimestamp), TextMode: value(q.TextMode), Sticker: q.Sticker,
		NotifySelf: q.NotifySelf == nil || *q.NotifySelf,
	}, nil
}

// checkContent checks what a message says; the last two are signal-cli's
// refusals, whose exact words are a guess.
func (q *sendRequest) checkContent() error {
	if p := q.LinkPreview; p != nil {
		switch {
		case p.URL == "":
			return refusal("Please provide a valid Link Preview URL")
		case !strings.HasPrefix(p.URL, "https://"):
			return refusal("Link Preview URL must start with https://..")
		case p.Title == "":
			return refusal("Please provide a valid Link Preview Title")
		case !strings.Contains(q.Message, p.URL):
			return refusal("Link Preview URL is missing in the message!")
		}
	}
	quotes := value(q.QuoteTimestamp) != 0
	if quotes && value(q.QuoteAuthor) == "" {
		return refusal("Failed to send message: please provide a quote author")
	}
	if q.Message == "" && len(q.Attachments) == 0 && q.Sticker == "" && !quotes {
		return refusal("Failed to send message: please provide a message, an attachment or a sticker")
	}
	return nil
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

type sendAnswer struct {
	Timestamp string      `json:"timestamp"`
	Errors    *sendErrors `json:"errors,omitempty"`
}

type sendErrors struct {
	Recipients []recipientError `json:"recipients"`
}

type recipientError struct {
	UUID   string `json:"uuid"`
	Reason string `json:"reason"`
}

// tell ends the request as the outcome says.
func (a *API) tell(w http.ResponseWriter, r *http.Request, number string, out signalnet.Outcome) {
	switch {
	case out.Answer == signalnet.Silent:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case out.Answer == signalnet.Cut:
		cut(w, out.Timestamp)
	case out.Failure != nil && out.Failure.Token != nil:
		answer(w, http.StatusTooManyRequests, map[string]any{
			"error":            out.Failure.Text + ". Use the attached challenge tokens to lift the rate limit restrictions via the '/v1/accounts/{number}/rate-limit-challenge' endpoint.",
			"challenge_tokens": []string{*out.Failure.Token},
			"account":          number,
		})
	case out.Failure != nil:
		refuse(w, out.Failure)
	case a.net.Quirks.Text("send_answer") == "array":
		body := sendAnswer{Timestamp: strconv.FormatInt(out.Timestamp, 10)}
		if out.Missed != "" {
			body.Errors = &sendErrors{[]recipientError{{UUID: out.Missed, Reason: "IDENTITY_FAILURE"}}}
		}
		answer(w, http.StatusCreated, []sendAnswer{body})
	default:
		answer(w, http.StatusCreated, sendAnswer{Timestamp: strconv.FormatInt(out.Timestamp, 10)})
	}
}

// cut writes half an answer and resets the connection.
func cut(w http.ResponseWriter, timestamp int64) {
	conn, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	body, _ := json.Marshal(sendAnswer{Timestamp: strconv.FormatInt(timestamp, 10)})
	fmt.Fprintf(buffer, "HTTP/1.1 201 Created\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:len(body)/2])
	_ = buffer.Flush()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}
