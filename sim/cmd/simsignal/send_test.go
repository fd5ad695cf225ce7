package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quartet/sim/internal/signalnet"
)

var publicKoty = koty.PublicID()

// png is a file that looks like a PNG.
var png = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n0123456789"))

func TestSendsAreValidatedLikeTheRealServerDoes(t *testing.T) {
	s := start(t)
	second := signalnet.NamedGroup("second").PublicID()
	for _, c := range []struct {
		name, body string
		status     int
		says       string
	}{
		{"no recipient", `{"number":"+1"}`, 400, "please provide at least one recipient"},
		{"no number", `{"recipients":["+15550111111"]}`, 400, "please provide a valid number"},
		{"recipient as a string", fmt.Sprintf(`{"number":%q,"recipient":"+15550111111","message":"x"}`, bot), 201, "timestamp"},
		{"a uuid", fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x"}`, bot, ala), 201, "timestamp"},
		{"a username", fmt.Sprintf(`{"number":%q,"recipients":["ala.42"],"message":"x"}`, bot), 201, "timestamp"},
		{"a username that starts like a group", fmt.Sprintf(`{"number":%q,"recipients":["group.4242"],"message":"x"}`, bot), 400, "Invalid identifier"},
		{"a username that starts like a group and is no base64", fmt.Sprintf(`{"number":%q,"recipients":["group.042"],"message":"x"}`, bot), 201, "timestamp"},
		{"the internal id of a group", fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x"}`, bot, koty.ID), 400, "Username must contain a '.'"},
		{"a group id that is too short", fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x"}`, bot, signalnet.PublicID("AAAA")), 400, "Invalid Signal group size (3"},
		{"no group id at all", fmt.Sprintf(`{"number":%q,"recipients":["group.!!!!!!!!!!!!"],"message":"x"}`, bot), 400, "Invalid identifier group.!!!!!!!!!!!!"},
		{"two groups", fmt.Sprintf(`{"number":%q,"recipients":[%q,%q],"message":"x"}`, bot, publicKoty, second), 400, "more than one group"},
		{"a group and a number", fmt.Sprintf(`{"number":%q,"recipients":[%q,"+15550111111"],"message":"x"}`, bot, publicKoty), 400, "Groups and phone numbers cannot be specified together"},
		{"a group and a username", fmt.Sprintf(`{"number":%q,"recipients":[%q,"ala.42"],"message":"x"}`, bot, publicKoty), 400, "Groups and usernames cannot be specified together"},
		{"a number and a username", fmt.Sprintf(`{"number":%q,"recipients":["+15550111111","ala.42"],"message":"x"}`, bot), 400, "phone numbers and usernames cannot be specified together"},
		{"nothing to say", fmt.Sprintf(`{"number":%q,"recipients":[%q]}`, bot, publicKoty), 400, "please provide a message"},
		{"a sticker without a delimiter", fmt.Sprintf(`{"number":%q,"recipients":[%q],"sticker":"abc"}`, bot, publicKoty), 400, "valid sticker delimiter"},
		{"a sticker", fmt.Sprintf(`{"number":%q,"recipients":[%q],"sticker":"abc:1"}`, bot, publicKoty), 201, "timestamp"},
		{"view once without a picture", fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x","view_once":true}`, bot, publicKoty), 400, "'view_once' can only be set for image attachments!"},
		{"a quote without its author", fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x","quote_timestamp":1}`, bot, publicKoty), 400, "quote author"},
		{"a quote's timestamp as a string", fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x","quote_timestamp":"1"}`, bot, publicKoty), 400, "invalid request"},
		{"a preview without a title", fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"https://a.example","link_preview":{"url":"https://a.example"}}`, bot, publicKoty), 400, "valid Link Preview Title"},
		{"a preview that is not in the text", fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x","link_preview":{"url":"https://a.example","title":"t"}}`, bot, publicKoty), 400, "Link Preview URL is missing in the message!"},
		{"base64 for URLs", fmt.Sprintf(`{"number":%q,"recipients":[%q],"base64_attachments":["_-_-"]}`, bot, publicKoty), 400, "illegal base64 data at input byte 0"},
		{"an empty attachment", fmt.Sprintf(`{"number":%q,"recipients":[%q],"base64_attachments":[""]}`, bot, publicKoty), 400, "The base64 data does not exist."},
		{"a file name with a slash", fmt.Sprintf(`{"number":%q,"recipients":[%q],"base64_attachments":["data:image/png;filename=a/b.png;base64,%s"]}`, bot, publicKoty, png), 400, "no such file or directory"},
		{"another account", fmt.Sprintf(`{"number":"+15550199999","recipients":[%q],"message":"x"}`, publicKoty), 400, "Specified account does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, kind, body := s.call("POST", "/v2/send", c.body)
			if status != c.status || !strings.Contains(body, c.says) || !(c.status == 201 || strings.HasPrefix(body, `{"error":`)) {
				t.Errorf("%d %s, want %d with %q", status, body, c.status, c.says)
			}
			if !strings.HasPrefix(kind, "application/json") && c.says != "invalid request" {
				t.Errorf("content type is %s", kind)
			}
		})
	}
}

func TestMalformedJSONIsAnsweredAsPlainText(t *testing.T) {
	s := start(t)
	status, kind, body := s.call("POST", "/v2/send", `{"number":`)
	if status != 400 || !strings.HasPrefix(kind, "text/plain") || body != `{"error":"Couldn't process request - invalid request"}` {
		t.Errorf("%d %s %s", status, kind, body)
	}
	s.quirks(`{"text_plain_errors":false}`)
	if _, kind, _ := s.call("POST", "/v2/send", `{"number":`); !strings.HasPrefix(kind, "application/json") {
		t.Errorf("with the quirk off the content type is %s", kind)
	}
}

func TestEveryFormOfAttachmentArrives(t *testing.T) {
	s := start(t)
	body, err := json.Marshal(map[string]any{"number": bot, "recipients": []string{publicKoty}, "base64_attachments": []string{
		png, "data:image/gif;base64," + png, "data:image/gif;filename=kot.png;base64," + png,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := s.send(string(body)); status != 201 {
		t.Fatalf("%d %s", status, answer)
	}
	files := s.sent()[0].Attachments
	if len(files) != 3 {
		t.Fatalf("files are %+v", files)
	}
	for i, f := range files {
		if f.ContentType != "image/png" || f.Size != 18 || f.SHA256 == "" || !strings.HasSuffix(f.Filename, ".png") {
			t.Errorf("file %d is %+v", i, f)
		}
		status, kind, content := s.call("GET", fmt.Sprintf("/_sim/pictures/%d", f.Picture), "")
		if status != 200 || kind != "image/png" || base64.StdEncoding.EncodeToString([]byte(content)) != png {
			t.Errorf("picture %d is %d %s %q", i, status, kind, content)
		}
	}
	if files[2].Filename != "kot.png" {
		t.Errorf("the name became %s", files[2].Filename)
	}
}

func TestTheLogTellsWhatWasSent(t *testing.T) {
	s := start(t)
	body := fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"hej","quote_timestamp":5,"quote_author":%q,"mentions":[{"start":0,"length":1,"author":%q}],"text_mode":"styled","notify_self":false}`, bot, publicKoty, ala, ala)
	if status, answer := s.send(body); status != 201 {
		t.Fatalf("%d %s", status, answer)
	}
	got := s.sent()[0]
	if got.Seq != 1 || got.Number != bot || got.Text != "hej" || !slices.Equal(got.Groups, []string{koty.ID}) || got.QuoteTimestamp != 5 ||
		got.QuoteAuthor != ala || len(got.Mentions) != 1 || got.TextMode != "styled" || got.NotifySelf || got.At.IsZero() || got.Done.Before(got.At) || got.Via != "rest" {
		t.Errorf("log has %+v", got)
	}
}

func TestTheAnswerIsAnObjectOrAnArray(t *testing.T) {
	s := start(t)
	_, answer := s.send(message("x"))
	var object struct{ Timestamp string }
	if err := json.Unmarshal([]byte(answer), &object); err != nil || len(object.Timestamp) != 13 {
		t.Errorf("%s, %v", answer, err)
	}
	s.quirks(`{"send_answer":"array"}`)
	_, answer = s.send(message("x"))
	var array []struct{ Timestamp string }
	if err := json.Unmarshal([]byte(answer), &array); err != nil || len(array) != 1 || len(array[0].Timestamp) != 13 {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestAPartialFailureShowsOnlyInTheArray(t *testing.T) {
	s := start(t, "-quirks", "partial_failure=2,send_answer=array")
	if status, answer := s.send(message("x")); status != 201 || !strings.Contains(answer, `"errors":{"recipients":[{"uuid":"`) || !strings.Contains(answer, "IDENTITY_FAILURE") {
		t.Errorf("%d %s", status, answer)
	}
	s.quirks(`{"send_answer":"object"}`)
	if status, answer := s.send(message("x")); status != 201 || strings.Contains(answer, "errors") {
		t.Errorf("%d %s", status, answer)
	}
}

func TestEachFailureClassAnswersItsTextAndDeliversNothing(t *testing.T) {
	s := start(t)
	for class, says := range map[string]string{
		"bug": "Invalid", "account": "Specified account does not exist", "identity": "untrusted recipient keys", "permanent": "is not registered",
		"rate_limit": "[429] Rate limit exceeded", "too_large": "413", "transient": "Connection closed", "prekeys": "No prekeys available", "profile": "please first update your profile",
	} {
		s.quirks(fmt.Sprintf(`{"send_fail_%s":1}`, class))
		if status, answer := s.send(message("x")); status != 400 || !strings.Contains(answer, says) {
			t.Errorf("%s: %d %s", class, status, answer)
		}
	}
	if n := len(s.sent()); n != 0 {
		t.Errorf("%d were delivered", n)
	}
	if status, _ := s.send(message("x")); status != 201 {
		t.Errorf("after the counts ran out the answer is %d", status)
	}
}

func TestFailuresComeAtTheRatesSet(t *testing.T) {
	s := start(t, "-quirks", "send_error_rates=transient:0.5")
	for range 200 {
		s.send(message("x"))
	}
	if failed := s.stats().SendsFailed["transient"]; failed < 60 || failed > 140 {
		t.Errorf("%d of 200 failed", failed)
	}
}

func TestAMissingAccountIsNotListedAndCannotSend(t *testing.T) {
	s := start(t)
	var numbers []string
	if s.must(200, "GET", "/v1/accounts", "", &numbers); !slices.Equal(numbers, []string{bot}) {
		t.Errorf("accounts are %v", numbers)
	}
	s.quirks(`{"account_missing":true}`)
	if s.must(200, "GET", "/v1/accounts", "", &numbers); len(numbers) != 0 {
		t.Errorf("accounts are %v", numbers)
	}
	if status, answer := s.send(message("x")); status != 400 || !strings.Contains(answer, "Specified account does not exist") {
		t.Errorf("%d %s", status, answer)
	}
}

func TestA429MayHaveDelivered(t *testing.T) {
	s := start(t, "-quirks", "send_429_delivered=1")
	status, answer := s.send(message("x"))
	var body struct {
		Error  string
		Tokens []string `json:"challenge_tokens"`
		Number string   `json:"account"`
	}
	if err := json.Unmarshal([]byte(answer), &body); err != nil || status != 429 || !strings.Contains(body.Error, "rate limiting") || !slices.Equal(body.Tokens, []string{""}) || body.Number != bot {
		t.Errorf("%d %s", status, answer)
	}
	if n := len(s.sent()); n != 1 {
		t.Errorf("%d were delivered", n)
	}
}

func TestAPlain429DeliversNothingAndMayCarryAToken(t *testing.T) {
	s := start(t, "-quirks", "send_429=1,challenge_token=tok-1")
	if status, answer := s.send(message("x")); status != 429 || !strings.Contains(answer, `"challenge_tokens":["tok-1"]`) {
		t.Errorf("%d %s", status, answer)
	}
	if n := len(s.sent()); n != 0 {
		t.Errorf("%d were delivered", n)
	}
}

func TestTheUploadRateLimitIsA400AndSparesTexts(t *testing.T) {
	s := start(t, "-quirks", "send_429_upload=1")
	if status, _ := s.send(message("x")); status != 201 {
		t.Errorf("a text was answered %d", status)
	}
	if status, answer := s.send(fmt.Sprintf(`{"number":%q,"recipients":[%q],"base64_attachments":[%q]}`, bot, publicKoty, png)); status != 400 || !strings.Contains(answer, "[429] Rate limit exceeded") {
		t.Errorf("%d %s", status, answer)
	}
}

// unanswered sends and expects no answer while the simulator gets stats that satisfy.
func unanswered(t *testing.T, s *sim, meanwhile func(stats) bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, _, err := s.try(ctx, "POST", "/v2/send", message("x"))
		ended <- err
	}()
	s.until("handled", meanwhile)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the send ended with %v", err)
	}
}

func TestASendCanHangAlthoughItWasDelivered(t *testing.T) {
	s := start(t, "-quirks", "send_hang=1")
	unanswered(t, s, func(v stats) bool { return v.Sends == 1 && v.SendsPending == 0 })
	if status, _ := s.send(message("next")); status != 201 {
		t.Errorf("the next one was answered %d", status)
	}
}

func TestASendCanHangWithoutDelivery(t *testing.T) {
	s := start(t, "-quirks", "send_hang_lost=1")
	unanswered(t, s, func(v stats) bool { return v.SendsReceived == 1 && v.SendsPending == 0 })
	if n := len(s.sent()); n != 0 {
		t.Errorf("%d were delivered", n)
	}
}

func TestPendingSendsHangWhenTheDaemonDisconnects(t *testing.T) {
	s := start(t, "-latency", "send_text=1s")
	var once sync.Once
	unanswered(t, s, func(v stats) bool {
		if v.SendsPending == 1 {
			once.Do(func() { s.must(200, "POST", "/_sim/disconnect?what=daemon", "", nil) })
		}
		return v.Sends == 1
	})
	if status, _ := s.send(message("later")); status != 201 {
		t.Errorf("a later one was answered %d", status)
	}
}

func TestAnInstantDaemonsAnswerCanGetLost(t *testing.T) {
	s := start(t, "-quirks", "lost_response")
	lost := 0
	for i := range int64(40) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, _, _, err := s.try(ctx, "POST", "/v2/send", message("x"))
			ended <- err
		}()
		s.until("delivered", func(v stats) bool { return v.Sends == i+1 && v.SendsPending == 0 })
		select {
		case <-ended:
		case <-time.After(100 * time.Millisecond):
			lost++
		}
		cancel()
	}
	if lost == 0 {
		t.Error("no answer was lost")
	}
}

func TestTheConnectionCanBreakInTheMiddleOfTheAnswer(t *testing.T) {
	s := start(t, "-quirks", "send_cut=1")
	_, _, _, err := s.try(t.Context(), "POST", "/v2/send", message("x"))
	if err == nil {
		t.Error("answered")
	}
	if n := len(s.sent()); n != 1 {
		t.Errorf("%d were delivered", n)
	}
}

func TestAClientThatLeavesDoesNotTakeItsMessageBack(t *testing.T) {
	s := start(t, "-latency", "send_text=1s")
	unanswered(t, s, func(v stats) bool { return v.SendsPending == 1 })
	s.until("delivered", func(v stats) bool { return v.Sends == 1 })
}

func TestSendsTakeTheirLatencyAndRunBesideEachOther(t *testing.T) {
	s := start(t, "-latency", "send_text=100ms,send_attachment=400ms")
	took := func(body string) time.Duration {
		began := time.Now()
		if status, answer := s.send(body); status != 201 {
			t.Errorf("%d %s", status, answer)
		}
		return time.Since(began)
	}
	began := time.Now()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { took(message("x")) })
	}
	wg.Wait()
	if all := time.Since(began); all > 5*time.Second { // one after the other: 10 s
		t.Errorf("100 sends took %v", all)
	}
	if d := took(message("x")); d < 100*time.Millisecond {
		t.Errorf("a text took %v", d)
	}
	if d := took(fmt.Sprintf(`{"number":%q,"recipients":[%q],"base64_attachments":[%q]}`, bot, publicKoty, png)); d < 400*time.Millisecond {
		t.Errorf("an attachment took %v", d)
	}
	if d := took(message(strings.Repeat("ż", 1001))); d < 400*time.Millisecond {
		t.Errorf("2002 bytes of text, which become an attachment, took %v", d)
	}
}

func TestSignsAreTakenAndChecked(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"PUT", "/v1/typing-indicator/", `{"recipient":"` + publicKoty + `"}`, 204, ""},
		{"DELETE", "/v1/typing-indicator/", `{"recipient":"` + publicKoty + `"}`, 204, ""},
		{"PUT", "/v1/typing-indicator/", `{`, 400, "invalid request"},
		{"PUT", "/v1/typing-indicator/", `{"recipient":"` + koty.ID + `"}`, 400, "Username must contain"},
		{"POST", "/v1/reactions/", `{"recipient":"` + publicKoty + `","reaction":"👍","target_author":"` + ala + `","timestamp":5}`, 204, ""},
		{"DELETE", "/v1/reactions/", `{"recipient":"` + publicKoty + `","target_author":"` + ala + `","timestamp":5}`, 204, ""},
		{"POST", "/v1/reactions/", `{"reaction":"👍","target_author":"` + ala + `","timestamp":5}`, 400, "recipient missing"},
		{"POST", "/v1/reactions/", `{"recipient":"` + publicKoty + `","target_author":"` + ala + `","timestamp":5}`, 400, "reaction missing"},
		{"POST", "/v1/reactions/", `{"recipient":"` + publicKoty + `","reaction":"👍","timestamp":5}`, 400, "target_author missing"},
		{"POST", "/v1/reactions/", `{"recipient":"` + publicKoty + `","reaction":"👍","target_author":"` + ala + `"}`, 400, "timestamp missing"},
		{"POST", "/v1/reactions/", `{"recipient":"` + publicKoty + `","reaction":"👍","target_author":"` + ala + `","timestamp":"5"}`, 400, "invalid request"},
	} {
		if status, _, body := s.call(c.method, c.path+bot, c.body); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, body)
		}
	}
	if v := s.stats(); v.TypingStarted != 1 || v.TypingStopped != 1 || v.Reactions != 2 {
		t.Errorf("counted %+v", v)
	}
}

func TestGroupsAreListedUnderBothIDs(t *testing.T) {
	s := start(t)
	var list []struct {
		Name       string
		ID         string
		InternalID string `json:"internal_id"`
		Members    []any
	}
	s.must(200, "GET", "/v1/groups/"+bot, "", &list)
	if len(list) != 2 || list[0].Name != "Koty" || list[0].ID != publicKoty || list[0].InternalID != koty.ID || len(publicKoty) != 66 {
		t.Errorf("groups are %+v", list)
	}
	s.must(200, "GET", "/v1/groups/"+bot+"/"+publicKoty, "", nil)
	if status, _, body := s.call("GET", "/v1/groups/"+bot+"/group.none", ""); status != 404 || !strings.Contains(body, "No group with that id found") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := s.call("GET", "/v1/groups/+15550199999", ""); status != 400 {
		t.Errorf("another account's groups: %d", status)
	}
}

func TestHealthSaysNothing(t *testing.T) {
	s := start(t, "-quirks", "account_missing")
	if status, _, body := s.call("GET", "/v1/health", ""); status != 204 || body != "" {
		t.Errorf("%d %s", status, body)
	}
}
