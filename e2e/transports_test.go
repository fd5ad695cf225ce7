package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quartet/e2e/internal/stack"
)

// A burst as fast as the connection takes it, into a backlog that has room for
// a few of it: signal-cli waits, and nothing is lost or out of order.
func TestJSONRPCPressesBackAndLosesNothing(t *testing.T) {
	spool := t.TempDir()
	b := stack.StartBotd(t, stack.Options{Way: stack.RPC, Env: []string{
		"BOTD_BACKLOG_BYTES=64KiB", "BOTD_LIMIT=4", "BOTD_COOLDOWN=0", "BOTD_SPOOL_DIR=" + spool}})
	b.Signal.Put(t, "latency", map[string]any{"send_text": "1ms"})
	answered(t, b, 3_000, 0)
	if n := b.Metrics(t).Sum("quartet_botd_dropped_total"); n != 0 {
		t.Errorf("%v were dropped", n)
	}
	// A picture goes by path, and the file does not stay.
	b.Signal.Say(t, 0, ask("!kot")...)
	sends, _ := b.Signal.Sends(t, 3_000, stack.Patience)
	if len(sends) != 1 || len(sends[0].Attachments) != 1 || sends[0].Attachments[0].Bytes < 1000 {
		t.Errorf("after !kot came %+v", sends)
	}
}

// Messages wait at Signal while the bot is down: what came in between is
// answered after it is back.
func TestJSONRPCMissesNothingWhileTheBotIsDown(t *testing.T) {
	w := stack.StartWorld(t, stack.Options{Way: stack.RPC})
	p := w.Start(t)
	w.Signal.Say(t, 0, ask("!pomoc")...)
	collect(t, w.Signal, 1)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	w.Signal.Say(t, 0, ask("!ja", "!ja", "!pomoc")...)
	w.Start(t)
	if got := collect(t, w.Signal, 4); len(got) != 4 {
		t.Errorf("%d answers", len(got))
	}
}

// What the container posts to the webhook is answered over REST; who may not
// post changes nothing.
func TestWebhookTakesWhatTheContainerPosts(t *testing.T) {
	hook := stack.FreeAddr(t)
	b := stack.StartBotd(t, stack.Options{Env: []string{"BOTD_WEBHOOK_ADDR=" + hook, "BOTD_COOLDOWN=0"}})
	at := 0
	post := func(path, origin, text string) int {
		t.Helper()
		at++
		line := fmt.Sprintf(`{"jsonrpc":"2.0","method":"receive","params":{"account":%q,"envelope":{"sourceUuid":%q,"sourceName":"Ala","timestamp":%d,"dataMessage":{"timestamp":%[3]d,"message":%[4]q}}}}`,
			stack.Number, person(0), at, text)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+hook+path, strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if code := post("/webhook", "https://example.org", "!ja"); code != http.StatusForbidden {
		t.Errorf("a web page may post: %d", code)
	}
	// While Signal is slow with an answer, posts are taken all the same: the
	// container processes nothing else in the meantime.
	b.Signal.Put(t, "latency", map[string]any{"send_text": "300ms"})
	for range 5 {
		if code := post("/webhook", "", "!ja"); code != http.StatusOK {
			t.Fatalf("answered %d", code)
		}
	}
	if sends, _ := b.Signal.Sends(t, 0, 0); len(sends) > 1 {
		t.Errorf("%d answers had gone out when the last post was taken", len(sends))
	}
	for i, s := range collect(t, b.Signal, 5) {
		if want := fmt.Sprintf("Ala: od początku %d polece", i+1); !strings.HasPrefix(s.Message, want) {
			t.Errorf("answer %d is %q", i+1, s.Message)
		}
	}
}

// The bot's own share over JSON-RPC, measured as over REST.
func TestLatencyOverJSONRPC(t *testing.T) {
	b := stack.StartBotd(t, stack.Options{Way: stack.RPC})
	b.Signal.Put(t, "latency", map[string]any{"send_text": "60ms"})
	r := latency(t, b, "--text=!pomoc")
	if send, own, total := r.p50("send_ms"), r.p50("own_ms"), r.p50("total_ms"); send < 60 || own <= 0 || own > total-60 {
		t.Errorf("send %v, own %v of %v ms; 60 were injected", send, own, total)
	}
}
