package bot_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/envelope"
)

// probe posts a self-test as a caller on this machine does.
func probe(r *rig, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	q := httptest.NewRequest(http.MethodPost, "/_selftest", strings.NewReader(body))
	q.RemoteAddr = "127.0.0.1:5000"
	q.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(q)
	}
	w := httptest.NewRecorder()
	r.Selftest(w, q)
	return w
}

func TestSelftestReportsWhoseTimeItWas(t *testing.T) {
	r := newRig(t, bot.Options{SelftestGroup: groupID}, echo())
	const sendTime = 50 * time.Millisecond
	r.answerSendsWith(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(sendTime) // Signal works
		w.WriteHeader(http.StatusCreated)
		w.Write([]byte(`{"timestamp":"1"}`))
	})
	w := probe(r, `{"text":"!echo x"}`, nil)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var got struct {
		Outcome string
		Timing  map[string]float64
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Outcome != "ok" {
		t.Errorf("outcome %q", got.Outcome)
	}
	if sent := r.next(); sent.Recipients[0] != envelope.PublicGroupID(groupID) {
		t.Errorf("the reply went to %v", sent.Recipients)
	}
	m := got.Timing
	if m["send_ms"] < 50 {
		t.Errorf("send_ms is %v, Signal alone took 50", m["send_ms"])
	}
	sum := m["queue_ms"] + m["dispatch_ms"] + m["handler_ms"] - m["send_ms"] - m["upstream_ms"]
	if diff := m["own_ms"] - sum; diff > 0.0011 || diff < -0.0011 {
		t.Errorf("own_ms %v is not queue + dispatch + handler - send - upstream = %v", m["own_ms"], sum)
	}
}

func TestSelftestLiftsTheCooldownForItselfAlone(t *testing.T) {
	limited := echo()
	limited.Cooldown = time.Hour
	r := newRig(t, bot.Options{SelftestGroup: groupID}, limited)
	for range 3 {
		if w := probe(r, `{"text":"!echo x","lease":"1m"}`, nil); !strings.Contains(w.Body.String(), `"outcome":"ok"`) {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		r.next()
	}
	r.say("ala", "!echo 1")
	r.next()
	r.say("ala", "!echo 2")
	if got := r.next(); !strings.Contains(got.Message, "Chwila przerwy") {
		t.Errorf("somebody else's cooldown is lifted too: %q", got.Message)
	}
}

func TestSelftestIsRefused(t *testing.T) {
	r := newRig(t, bot.Options{SelftestGroup: groupID}, echo())
	without := newRig(t, bot.Options{}, echo())
	tests := []struct {
		name   string
		rig    *rig
		body   string
		change func(*http.Request)
		status int
		says   string
	}{
		{"without a group", without, `{"text":"!echo"}`, nil, http.StatusConflict, "BOTD_SELFTEST_GROUP"},
		{"from another machine", r, `{"text":"!echo"}`, func(q *http.Request) { q.RemoteAddr = "192.0.2.1:5000" }, http.StatusForbidden, "this machine"},
		{"from a web page", r, `{"text":"!echo"}`, func(q *http.Request) { q.Header.Set("Origin", "https://example.org") }, http.StatusUnsupportedMediaType, "web page"},
		{"as a form", r, `text=!echo`, func(q *http.Request) { q.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, http.StatusUnsupportedMediaType, "application/json"},
		{"no JSON", r, `!echo`, nil, http.StatusBadRequest, "read the body"},
		{"no command", r, `{"text":"hello"}`, nil, http.StatusBadRequest, "no command"},
		{"unknown command", r, `{"text":"!unknown"}`, nil, http.StatusBadRequest, "no command"},
		{"a lease that is none", r, `{"text":"!echo","lease":"soon"}`, nil, http.StatusBadRequest, "lease"},
		{"a lease for ever", r, `{"text":"!echo","lease":"1000h"}`, nil, http.StatusBadRequest, "lease"},
		{"a giant", r, `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, nil, http.StatusBadRequest, "read the body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := probe(tt.rig, tt.body, tt.change)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
	if len(r.replies)+len(without.replies) != 0 {
		t.Error("a refused self-test sent something")
	}
}
