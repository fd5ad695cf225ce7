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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/signalapi"
	"quartet/services/botd/internal/transport"
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

// mention is one as the server reads it.
type mention struct {
	Start, Length int
	Author        string
}

func TestSendWritesWhatTheServerExpects(t *testing.T) {
	var got struct {
		Number      string   `json:"number"`
		Recipients  []string `json:"recipients"`
		Message     string   `json:"message"`
		Attachments []string `json:"base64_attachments"`
		NotifySelf  *bool    `json:"notify_self"`

		Mentions       []mention `json:"mentions"`
		QuoteTimestamp int64     `json:"quote_timestamp"`
		QuoteAuthor    string    `json:"quote_author"`
		QuoteMessage   string    `json:"quote_message"`
		QuoteMentions  []mention `json:"quote_mentions"`
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
	receipt, err := c.Send(t.Context(), transport.Outgoing{
		Chat: transport.Chat{Group: "ABC"}, Text: text,
		Mentions:   []transport.Mention{{Start: 0, Length: 1, Author: "u1"}, {Start: 3, Length: 1, Author: "u2"}},
		Quote:      &transport.Quote{Timestamp: 1699999999999, Author: "u3", Text: "co?", Mentions: []transport.Mention{{Start: 1, Length: 1, Author: "u4"}}},
		Attachment: &transport.Attachment{ContentType: "image/jpeg", Filename: `../k;o"t.jpg`, Data: picture},
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
	if !slices.Equal(got.Mentions, []mention{{0, 1, "u1"}, {3, 1, "u2"}}) || !slices.Equal(got.QuoteMentions, []mention{{1, 1, "u4"}}) ||
		got.QuoteTimestamp != 1699999999999 || got.QuoteAuthor != "u3" || got.QuoteMessage != "co?" {
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
		receipt, err := c.Send(t.Context(), transport.Outgoing{Chat: transport.Chat{User: "u"}, Text: "x"})
		if err != nil || receipt.Timestamp != 1700000000001 || len(receipt.Failed) != tt.failed {
			t.Errorf("%s: %+v, %v", tt.body, receipt, err)
		}
	}
}

// What the server refuses is told in its words, whatever it calls them, but no
// number reaches a log. After some refusals the message has gone out all the same.
func TestSendTellsARefusal(t *testing.T) {
	const limited = "Failed to send message due to rate limiting."
	tests := []struct {
		status     int
		kind, body string
		class      transport.Class
		text       string
		unknown    bool
	}{
		{400, "application/json", `{"error":"Username must contain a '.'"}`, transport.ClassBug, "Username must contain a '.'", false},
		{400, "text/plain", `{"error":"invalid request"}`, transport.ClassBug, "invalid request", false},
		{400, "application/json", `{"error":"Specified account does not exist"}`, transport.ClassAccount, "Specified account does not exist", false},
		{400, "application/json", `{"error":"untrusted identities: +15550111111"}`, transport.ClassIdentity, "untrusted identities: +15550111111", false},
		{400, "application/json", `{"error":"User +15550111111 is not registered"}`, transport.ClassChat, "User +15550111111 is not registered", false},
		{400, "application/json", `{"error":"No prekeys available"}`, transport.ClassTransient, "No prekeys available", true},
		{400, "application/json", `{"error":"[429] Rate limit exceeded: 413"}`, transport.ClassRateLimit, "[429] Rate limit exceeded: 413", true},
		{429, "application/json", `{"error":"` + limited + `","challenge_tokens":[""]}`, transport.ClassRateLimit, limited, true},
		{429, "application/json", `{"error":"` + limited + `","challenge_tokens":["tok"]}`, transport.ClassRateLimit, limited, true},
		{502, "text/html", "<html>bad gateway</html>", transport.ClassTransient, "<html>bad gateway</html>", true},
		{500, "text/plain", "", transport.ClassUnknown, "Internal Server Error", true},
	}
	for _, tt := range tests {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		})
		_, err := c.Send(t.Context(), transport.Outgoing{Chat: transport.Chat{User: "u"}, Text: "x"})
		refused, ok := errors.AsType[*transport.Error](err)
		if !ok || refused.Code != tt.status || refused.Text != tt.text || refused.Class != tt.class {
			t.Errorf("%d %s: %v", tt.status, tt.body, err)
		}
		if strings.Contains(err.Error(), "15550111111") {
			t.Errorf("a number would reach the log: %v", err)
		}
		if unknown := errors.Is(err, transport.ErrOutcomeUnknown); unknown != tt.unknown {
			t.Errorf("%d %s: unknown %t, want %t", tt.status, tt.body, unknown, tt.unknown)
		}
	}
}

// What lifts a limit reaches the operator: a captcha's token, and never one that
// is empty.
func TestSendTellsTheTokensOfCaptchas(t *testing.T) {
	for tokens, want := range map[string][]string{`[""]`: {}, `["tok","","b"]`: {"tok", "b"}, `null`: nil} {
		c := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, `{"error":"Failed to send message due to rate limiting","challenge_tokens":`+tokens+`,"account":"+15550100000"}`)
		})
		_, err := c.Send(t.Context(), transport.Outgoing{Chat: transport.Chat{User: "u"}, Text: "x"})
		refused, ok := errors.AsType[*transport.Error](err)
		if !ok || !slices.Equal(refused.Challenges, want) || !refused.Action().Pause || refused.Action().RetryOnce {
			t.Errorf("%s: %+v", tokens, err)
		}
		if strings.Contains(err.Error(), "tok") {
			t.Errorf("a token would reach the log: %v", err)
		}
	}
}

// A server has a bug that kills it when an attachment begins with "base64,".
func TestAnAttachmentNeverBeginsLikeTheOneThatKillsTheServer(t *testing.T) {
	for _, a := range []transport.Attachment{{}, {Data: []byte("x")}, {ContentType: "base64,", Filename: "base64,", Data: []byte("base64,")}} {
		var got struct {
			Attachments []string `json:"base64_attachments"`
		}
		c := client(t, func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"timestamp":"1"}`)
		})
		if _, err := c.Send(t.Context(), transport.Outgoing{Chat: transport.Chat{User: "u"}, Attachment: &a}); err != nil {
			t.Fatal(err)
		}
		if len(got.Attachments) != 1 || !strings.HasPrefix(got.Attachments[0], "data:") || strings.Count(got.Attachments[0], "base64,") != 1 {
			t.Errorf("sent %q", got.Attachments)
		}
	}
}

// An answer goes where the question was asked, whatever else the chat names.
func TestAGroupIsAnsweredInTheGroup(t *testing.T) {
	c, got := noting(t, http.StatusCreated, `{"timestamp":"1"}`)
	chat := transport.Chat{Group: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", User: "u1"}
	_, err := c.Send(t.Context(), transport.Outgoing{Chat: chat, Text: "x"})
	for _, err := range []error{err, c.React(t.Context(), transport.Reaction{Chat: chat, Author: "u2"}), c.Typing(t.Context(), chat, true)} {
		if err != nil {
			t.Error(err)
		}
	}
	for _, call := range *got {
		if !strings.Contains(call, `"group.QUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEhoOD0="`) || strings.Contains(call, `"u1"`) {
			t.Errorf("sent %s", call)
		}
	}
}

func FuzzReceipt(f *testing.F) {
	for _, seed := range []string{
		`{"timestamp":"1700000000001"}`, `[{"timestamp":"1700000000001","errors":{"recipients":[{"uuid":"u2","reason":"IDENTITY_FAILURE"}]}}]`,
		`[]`, `null`, `[null]`, `{"timestamp":1}`, `[{"timestamp":"-1"}]`, `{"timestamp":"1\u0030"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		receipt, err := signalapi.ParseReceipt(raw)
		if (err == nil) != (receipt.Timestamp > 0) {
			t.Errorf("%s: %+v, %v", raw, receipt, err)
		}
		if e := signalapi.Refused(400, raw); !slices.Contains(transport.Classes(), e.Class) || slices.Contains(e.Challenges, "") {
			t.Errorf("%s: %+v", raw, e)
		}
	})
}

// A server that answers before it has read everything still gets the message
// that it was sent, and not the next one's bytes. The race detector judges.
func TestEarlyAnswerDoesNotMixMessages(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
	})
	picture := &transport.Attachment{ContentType: "image/png", Filename: "kot.png", Data: make([]byte, 4<<20)}
	for range 5 {
		if _, err := c.Send(t.Context(), transport.Outgoing{Chat: transport.Chat{User: "u"}, Attachment: picture}); err == nil {
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
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := c.Send(ctx, transport.Outgoing{Chat: transport.Chat{User: "u"}, Text: "x"})
			if !errors.Is(err, transport.ErrOutcomeUnknown) {
				t.Errorf("error %v, want ErrOutcomeUnknown", err)
			}
			if n := len(calls); n != 1 {
				t.Errorf("the server was asked %d times", n)
			}
		})
	}
}

func TestSendThatNeverLeftIsKnown(t *testing.T) {
	_, err := clientAt(t, "http://127.0.0.1:1").Send(t.Context(), transport.Outgoing{Chat: transport.Chat{User: "u"}, Text: "x"})
	if err == nil || errors.Is(err, transport.ErrOutcomeUnknown) {
		t.Errorf("error %v, want one that says it was not sent", err)
	}
}

func TestSmallCallsGoWhereTheServerHasThem(t *testing.T) {
	var got []string
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, r.Method+" "+r.URL.Path+" "+string(body))
		w.WriteHeader(http.StatusNoContent)
	})
	chat := transport.Chat{User: "u1"}
	reaction := transport.Reaction{Chat: chat, Emoji: "👍", Author: "u2", Timestamp: 7}
	undo := reaction
	undo.Remove = true
	for _, err := range []error{c.React(t.Context(), reaction), c.React(t.Context(), undo), c.Typing(t.Context(), chat, true), c.Typing(t.Context(), chat, false)} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{
		`POST /v1/reactions/+15550100000 {"recipient":"u1","reaction":"👍","target_author":"u2","timestamp":7}`,
		`DELETE /v1/reactions/+15550100000 {"recipient":"u1","reaction":"👍","target_author":"u2","timestamp":7}`,
		`PUT /v1/typing-indicator/+15550100000 {"recipient":"u1"}`,
		`DELETE /v1/typing-indicator/+15550100000 {"recipient":"u1"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the server got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A picture that lies in a file is sent from there.
func TestSendReadsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kot.png")
	if err := os.WriteFile(path, []byte("PNG"), 0o600); err != nil {
		t.Fatal(err)
	}
	var body string
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"timestamp":"1"}`)
	})
	file := transport.Outgoing{Chat: transport.Chat{User: "u"}, Attachment: &transport.Attachment{ContentType: "image/png", Path: path}}
	if _, err := c.Send(t.Context(), file); err != nil || !strings.Contains(body, "data:image/png;filename=kot.png;base64,UE5H") {
		t.Errorf("%v, sent %s", err, body)
	}
	file.Attachment.Path += ".gone"
	if _, err := c.Send(t.Context(), file); err == nil || errors.Is(err, transport.ErrOutcomeUnknown) {
		t.Errorf("a file that is not there: %v, want an error that says it was not sent", err)
	}
}
