package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"quartet/sim/internal/groupchat"
	"quartet/sim/internal/quirk"
)

func TestEveryQuirkIsExplained(t *testing.T) {
	s := start(t)
	var list []quirk.Description
	s.must(200, "GET", "/_sim/quirks?describe=1", "", &list)
	var values map[string]any
	s.must(200, "GET", "/_sim/quirks", "", &values)
	if len(list) != len(values) || len(list) < 25 {
		t.Errorf("%d descriptions, %d values", len(list), len(values))
	}
	for _, d := range list {
		if len(d.Doc) < 20 {
			t.Errorf("%s is explained by %q", d.Name, d.Doc)
		}
	}
}

func TestAnUnknownQuirkOrLatencyIsRefused(t *testing.T) {
	s := start(t)
	for path, body := range map[string]string{"quirks": `{"nope":1}`, "latency": `{"nope":"1s"}`, "frames": `[{"text":"no sender"}]`} {
		method := "PUT"
		if path == "frames" {
			method = "POST"
		}
		if status, _, answer := s.call(method, "/_sim/"+path, body); status != 400 || !strings.Contains(answer, "error") {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
}

func TestResetGoesBackToTheCommandLine(t *testing.T) {
	s := start(t, "-quirks", "send_429=1", "-latency", "send_text=5ms")
	s.quirks(`{"send_429":0,"number_null":true}`)
	s.must(200, "PUT", "/_sim/latency", `{"send_text":{"p50":"1ms","jitter":0.1}}`, nil)
	s.send(message("x"))
	s.must(204, "POST", "/_sim/reset", "", nil)
	var quirks map[string]any
	s.must(200, "GET", "/_sim/quirks", "", &quirks)
	var latency map[string]struct{ P50 string }
	s.must(200, "GET", "/_sim/latency", "", &latency)
	if quirks["send_429"] != 1.0 || quirks["number_null"] != false || latency["send_text"].P50 != "5ms" {
		t.Errorf("quirks %v, latency %v", quirks, latency)
	}
	if v := s.stats(); v.Sends != 0 || len(s.sent()) != 0 {
		t.Errorf("%+v", v)
	}
}

func TestFramesThatDoNotFitAreRefusedWhole(t *testing.T) {
	s := start(t)
	one := `{"sender":"` + ala + `"},`
	body := "[" + strings.Repeat(one, 300_000) + strings.TrimSuffix(one, ",") + "]"
	if status, _, answer := s.call("POST", "/_sim/frames", body); status != 429 {
		t.Errorf("%d %s", status, answer)
	}
	if v := s.stats(); v.Queued != 0 || v.Emitted != 0 {
		t.Errorf("%+v", v)
	}
}

func TestFramesComeAsAnArrayOrAsLines(t *testing.T) {
	s := start(t)
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/_sim/frames", strings.NewReader(
		`{"text":"a","sender":"`+ala+`"}`+"\n"+`{"text":"b","sender":"`+ala+`"}`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != 202 || string(body) != `{"queued":2}` {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	s.until("emitted", func(v stats) bool { return v.Emitted == 2 })
}

func TestSendsCanBeWaitedFor(t *testing.T) {
	s := start(t, "-latency", "send_text=100ms")
	got := make(chan string, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), bounds)
		defer cancel()
		_, _, answer, _ := s.try(ctx, "GET", "/_sim/sends?after=0&wait=20s", "")
		got <- answer
	}()
	s.send(message("waited for"))
	if answer := <-got; !strings.Contains(answer, "waited for") || !strings.Contains(answer, `"next":1`) {
		t.Errorf("answer is %s", answer)
	}
	var page struct {
		Sends []any
		Next  uint64
	}
	s.must(200, "GET", "/_sim/sends?after=1&wait=1ms", "", &page)
	if page.Sends == nil || len(page.Sends) != 0 || page.Next != 1 {
		t.Errorf("page is %+v", page)
	}
}

func TestTheInfoNamesTheNumberAndTheGroups(t *testing.T) {
	s := start(t, "-groups", "Koty, Psy")
	var info struct {
		Number string
		Groups []struct {
			Name, ID string
			Internal string `json:"internal_id"`
		}
	}
	s.must(200, "GET", "/_sim/info", "", &info)
	if info.Number != bot || len(info.Groups) != 2 || info.Groups[0].Internal != koty.ID || info.Groups[0].ID != publicKoty || info.Groups[1].Name != "Psy" {
		t.Errorf("info is %+v", info)
	}
}

func TestAPageOfAnotherOriginCannotSteer(t *testing.T) {
	s := start(t)
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/_sim/reset", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("answered %d", res.StatusCode)
	}
}

func TestThePageIsServedWholeByTheSimulator(t *testing.T) {
	s := start(t)
	status, kind, page := s.call("GET", "/", "")
	if status != 200 || !strings.HasPrefix(kind, "text/html") {
		t.Fatalf("%d %s", status, kind)
	}
	for _, want := range []string{`id="message"`, `id="send"`, `id="log"`, `aria-live=`, `<label`, `src="/chat.js"`, `href="/chat.css"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for path, want := range map[string]string{"/chat.js": "javascript", "/chat.css": "css"} {
		if status, kind, body := s.call("GET", path, ""); status != 200 || !strings.Contains(kind, want) || strings.Contains(body, "//cdn") {
			t.Errorf("%s: %d %s", path, status, kind)
		}
	}
	if status, _, _ := s.call("GET", "/nothing", ""); status != 404 {
		t.Errorf("an unknown path: %d", status)
	}
}

// events reads the event stream until n events came.
func events(t *testing.T, s *sim, n int) []groupchat.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bounds)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/_sim/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var list []groupchat.Event
	for lines := bufio.NewScanner(res.Body); len(list) < n && lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var e groupchat.Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
	}
	if len(list) < n {
		t.Fatalf("only %d events came", len(list))
	}
	return list
}

func TestTheChatShowsQuestionAnswerAndTheTimeBetween(t *testing.T) {
	s := start(t, "-latency", "send_attachment=60ms")
	s.dial(bot)
	s.emit("0", "hello", "!kot")
	s.until("emitted", func(v stats) bool { return v.Emitted == 2 })
	s.call("PUT", "/v1/typing-indicator/"+bot, `{"recipient":"`+publicKoty+`"}`)
	s.send(fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"kot!","base64_attachments":["data:image/png;filename=kot.png;base64,%s"]}`, bot, publicKoty, png))
	list := events(t, s, 4)
	if list[0].Text != "hello" || list[0].From != "user" || list[0].Name != "Ala" || list[1].Text != "!kot" || list[2].Kind != "typing" {
		t.Errorf("events are %+v", list)
	}
	a := list[3]
	if a.From != "bot" || a.Text != "kot!" || a.Question != "!kot" || a.RoundTripMS < 60 || len(a.Pictures) != 1 || a.Pictures[0].Name != "kot.png" {
		t.Fatalf("answer is %+v", a)
	}
	if status, kind, _ := s.call("GET", a.Pictures[0].URL, ""); status != 200 || kind != "image/png" {
		t.Errorf("picture: %d %s", status, kind)
	}
}

func TestChatterTalksByItself(t *testing.T) {
	s := start(t, "-chatter", "10ms")
	if list := events(t, s, 5); list[0].From != "user" || list[0].Name == "" {
		t.Errorf("events are %+v", list)
	}
}

func TestTheSeedLatenciesAreSet(t *testing.T) {
	s := start(t, "-seed-latencies", "-latency", "typing=3ms")
	var latency map[string]struct {
		P50    string
		Jitter float64
	}
	s.must(200, "GET", "/_sim/latency", "", &latency)
	if latency["send_attachment"].P50 != "2.648s" || latency["send_text"].P50 != "400ms" || latency["typing"].P50 != "3ms" {
		t.Errorf("latencies are %v", latency)
	}
}

func TestBadFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-quirks", "nope"}, {"-latency", "nope=1s"}, {"-receive-mode", "never"}, {"-groups", "a,,b"}, {"-listen", "0.0.0.0:0"}, {"-rpc", "0.0.0.0:0", "-listen", "127.0.0.1:0"}, {"-rpc", "unix:s", "-listen", "127.0.0.1:0"}, {"stray"}} {
		ctx, cancel := context.WithTimeout(t.Context(), bounds)
		if err := run(ctx, args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
		cancel()
	}
	var help strings.Builder
	if err := run(t.Context(), []string{"--help"}, io.Discard, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-quirks") {
		t.Errorf("%v, %s", err, help.String())
	}
}

func TestAHangingSendDoesNotHoldUpTheStop(t *testing.T) {
	s := start(t, "-quirks", "send_hang=1")
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), bounds)
		defer cancel()
		_, _, _, _ = s.try(ctx, "POST", "/v2/send", message("x"))
	}()
	s.until("hanging", func(v stats) bool { return v.Sends == 1 })
	// The stop, and that it is quick, is checked at the end of every test: see start.
}
