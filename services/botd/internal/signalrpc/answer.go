package signalrpc

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"quartet/services/botd/internal/transport"
)

// sent is the result of a call that sends something; an error carries one too.
type sent struct {
	Timestamp int64    `json:"timestamp"`
	Results   []result `json:"results"`
}

// result is what became of the message for one recipient.
type result struct {
	Address struct {
		UUID     string `json:"uuid"`
		Number   string `json:"number"`
		Username string `json:"username"`
	} `json:"recipientAddress"`
	Type       string  `json:"type"`
	Token      string  `json:"token"`
	RetryAfter float64 `json:"retryAfterSeconds"`
}

// outcome counts whom it reached and lists whom it did not.
func (s *sent) outcome() (reached int, failed []transport.Failure) {
	for _, r := range s.Results {
		if r.Type == "SUCCESS" {
			reached++
			continue
		}
		failed = append(failed, transport.Failure{
			Recipient:  cmp.Or(r.Address.UUID, r.Address.Number, r.Address.Username),
			Reason:     r.Type,
			RetryAfter: seconds(r.RetryAfter),
			Challenge:  r.Token,
		})
	}
	return reached, failed
}

// seconds reads a wait that a server asks for: none that is negative, and not
// more than a day, which is the longest that Signal is known to ask for.
func seconds(s float64) time.Duration {
	const longest = 24 * time.Hour
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, longest.Seconds()) * float64(time.Second))
}

// readReceipt reads the result of a send. A partial success is one; versions of
// signal-cli that call it a success when nobody was reached are not believed.
func readReceipt(raw []byte) (transport.Receipt, error) {
	var s sent
	if err := json.Unmarshal(raw, &s); err != nil {
		return transport.Receipt{}, unknown(fmt.Errorf("read the answer: %w", err))
	}
	reached, failed := s.outcome()
	if reached == 0 && len(failed) > 0 {
		return transport.Receipt{}, refusal(0, "nobody was reached", 0, failed)
	}
	if s.Timestamp <= 0 {
		return transport.Receipt{}, unknown(errors.New("read the answer: it has no timestamp"))
	}
	return transport.Receipt{Timestamp: s.Timestamp, Failed: failed}, nil
}

// readError reads the error of an answer. What cannot be read is ClassUnknown.
func readError(raw []byte) *transport.Error {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return refusal(0, "an error that cannot be read", 0, nil)
	}
	var data struct {
		Response sent `json:"response"`
	}
	if json.Unmarshal(e.Data, &data) != nil { // code and message are worth having without it
		return refusal(e.Code, e.Message, 0, nil)
	}
	reached, failed := data.Response.outcome()
	return refusal(e.Code, e.Message, reached, failed)
}

func refusal(code int, text string, reached int, failed []transport.Failure) *transport.Error {
	e := &transport.Error{
		Class:   transport.ClassifyRPC(code, text, failed),
		Code:    code,
		Text:    text,
		Failed:  failed,
		Reached: reached,
	}
	for _, f := range failed {
		e.RetryAfter = max(e.RetryAfter, f.RetryAfter)
		if f.Challenge != "" {
			e.Challenges = append(e.Challenges, f.Challenge)
		}
	}
	return e
}
