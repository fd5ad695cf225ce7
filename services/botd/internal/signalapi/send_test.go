package signalapi_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/signalapi"
)

const number = "+15550100000"

// client speaks to a server that answers with handler.
func client(t *testing.T, handler http.HandlerFunc) *signalapi.Client {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return clientAt(t, s.URL)
}

func clientAt(t *testing.T, address string) *signalapi.Client {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	http := pool.New("signal", pool.Options{})
	t.Cleanup(http.CloseIdle)
	return signalapi.New(signalapi.Options{URL: base, Number: number}, http)
}

func TestSendWritesWhatTheServerExpects(t *testing.T) {
	var got struct {
		Number      string   `json:"number"`
		Recipients  []string `json:"recipients"`
		Message     string   `json:"message"`
		Attachments []string `json:"base64_attachments"`
		NotifySelf  *bool    `json:"notify_self"`
	}
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v2/send" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s, %s", r.Method, r.URL, r.Header.Get("Content-Type"))
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"timestamp":"1700000000001"}`)
	})
	text := "zażółć \"gęślą\"\n\u2028 jaźń \x00"
	picture := []byte("\xff\xd8\xffpicture")
	receipt, err := c.Send(t.Context(), signalapi.Outgoing{
		Recipient: "group.QUJD", Text: text,
		Attachment: &signalapi.Attachment{ContentType: "image/jpeg", Filename: `../k;o"t.jpg`, Data: picture},
	})
	if err != nil {
		t.Fatal(err)
	}
	if receipt.Timestamp != 1700000000001 || receipt.Failed != nil {
		t.Errorf("receipt %+v", receipt)
	}
	if got.Number != number || len(got.Recipients) != 1 || got.Recipients[0] != "group.QUJD" || got.Message != text {
		t.Errorf("the server got %+v", got)
	}
	if got.NotifySelf == nil || *got.NotifySelf {
		t.Error("notify_self must be false, or our own words come back as frames")
	}
	want := "data:image/jpeg;filename=.._k_o_t.jpg;base64," + base64.StdEncoding.EncodeToString(picture)
	if len(got.Attachments) != 1 || got.Attachments[0] != want {
		t.Errorf("attachment %q\nwant       %q", got.Attachments, want)
	}
}

func TestSendTakesBothShapesOfTheAnswer(t *testing.T) {
	tests := []struct {
		body   string
		failed int
	}{
		{`{"timestamp":"1700000000001"}`, 0},
		{`[{"timestamp":"1700000000001"}]`, 0},
		{` [{"timestamp":1700000000001}]`, 0},
		{`[{"timestamp":"1700000000001","errors":{"recipients":[{"uuid":"u2","reason":"IDENTITY_FAILURE"}]}}]`, 1},
	}
	for _, tt := range tests {
		c := client(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, tt.body)
		})
		receipt, err := c.Send(t.Context(), signalapi.Outgoing{Recipient: "u", Text: "x"})
		if err != nil || receipt.Timestamp != 1700000000001 || len(receipt.Failed) != tt.failed {
			t.Errorf("%s: %+v, %v", tt.body, receipt, err)
		}
	}
}

// What the server refuses is told in its words, whatever it calls them, but
// for the numbers in them. After some refusals the message has gone out all the same.
func TestSendTellsARefusal(t *testing.T) {
	const limited = "Failed to send message due to rate limiting."
	tests := []struct {
		status     int
		kind, body string
		text       string
		unknown    bool
	}{
		{400, "application/json", `{"error":"Username must contain a '.'"}`, "Username must contain a '.'", false},
		{400, "text/plain", `{"error":"invalid request"}`, "invalid request", false},
		{400, "application/json", `{"error":"Specified account does not exist"}`, "Specified account does not exist", false},
		{400, "application/json", `{"error":"untrusted identities: +15550111111, +15550111112"}`, "untrusted identities: [number], [number]", false},
		{400, "application/json", `{"error":"User +15550111111 is not registered"}`, "User [number] is not registered", false},
		{400, "application/json", `{"error":"No prekeys available"}`, "No prekeys available", false},
		{400, "application/json", `{"error":"[429] Rate limit exceeded: 413"}`, "[429] Rate limit exceeded: 413", false},
		{429, "application/json", `{"error":"` + limited + `","challenge_tokens":[""]}`, limited, true},
		{429, "application/json", `{"error":"` + limited + `","challenge_tokens":["tok"]}`, limited, true},
		{502, "text/html", "<html>bad gateway</html>", "<html>bad gateway</html>", true},
		{500, "text/plain", "", "Internal Server Error", true},
		{400, "text/plain", strings.Repeat("ż", 1000), strings.Repeat("ż", 500), false},
	}
	for _, tt := range tests {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		})
		_, err := c.Send(t.Context(), signalapi.Outgoing{Recipient: "u", Text: "x"})
		refused, ok := errors.AsType[*signalapi.AnswerError](err)
		if !ok || refused.Status != tt.status || refused.Text != tt.text {
			t.Errorf("%d %s: %v", tt.status, tt.body, err)
		}
		if unknown := errors.Is(err, signalapi.ErrOutcomeUnknown); unknown != tt.unknown {
			t.Errorf("%d %s: unknown %t, want %t", tt.status, tt.body, unknown, tt.unknown)
		}
	}
}

// A server that answers before it has read everything still gets the message
// that it was sent, and not the next one's bytes. The race detector judges.
func TestEarlyAnswerDoesNotMixMessages(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
	})
	picture := &signalapi.Attachment{ContentType: "image/png", Filename: "kot.png", Data: make([]byte, 4<<20)}
	for range 5 {
		if _, err := c.Send(t.Context(), signalapi.Outgoing{Recipient: "u", Attachment: picture}); err == nil {
			t.Error("no error")
		}
	}
}

// A request that was written and not answered may have been delivered.
func TestSendWithoutAnswerIsUnknown(t *testing.T) {
	cut := func(w http.ResponseWriter) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	}
	handlers := map[string]http.HandlerFunc{
		"never answers": func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"connection cut": func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			cut(w)
		},
		"answer cut": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"timest`)
		},
		"answer that is none": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"timestamp":"soon"}`)
		},
		"an empty list": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `[]`)
		},
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			calls := make(chan struct{}, 10)
			c := client(t, func(w http.ResponseWriter, r *http.Request) {
				calls <- struct{}{}
				handler(w, r)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := c.Send(ctx, signalapi.Outgoing{Recipient: "u", Text: "x"})
			if !errors.Is(err, signalapi.ErrOutcomeUnknown) {
				t.Errorf("error %v, want ErrOutcomeUnknown", err)
			}
			if n := len(calls); n != 1 {
				t.Errorf("the server was asked %d times", n)
			}
		})
	}
}

func TestSendThatNeverLeftIsKnown(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	address := s.URL
	s.Close() // nobody listens there now
	_, err := clientAt(t, address).Send(t.Context(), signalapi.Outgoing{Recipient: "u", Text: "x"})
	if err == nil || errors.Is(err, signalapi.ErrOutcomeUnknown) {
		t.Errorf("error %v, want one that says it was not sent", err)
	}
}
