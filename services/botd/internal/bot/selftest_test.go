package bot_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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
	limited.Limits.User = time.Hour
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

// The name that self-tests ask under has privileges, so nobody has it who
// comes over the wire.
func TestSelftestCannotBeClaimedFromOutside(t *testing.T) {
	r := newRig(t, bot.Options{SelftestGroup: groupID}, echo())
	probe(r, `{"text":"!echo x","lease":"1m"}`, nil)
	r.next()
	r.say("00000000-0000-4000-8000-000000000000", "!echo me")
	r.say("ala", "!echo last")
	if got := r.next(); got.Message != "ALA:last" {
		t.Errorf("answered %q", got.Message)
	}
	if n := r.dropped("own"); n != 1 {
		t.Errorf("%d dropped, want 1", n)
	}
}

// Self-tests at the same time wait for each other like one person's commands.
func TestSelftestsAtTheSameTimeAllEnd(t *testing.T) {
	limited := echo()
	limited.Limits.User = time.Hour
	r := newRig(t, bot.Options{SelftestGroup: groupID}, limited)
	var all sync.WaitGroup
	for n := range 10 {
		lease := []string{"1m", "20s"}[n%2]
		all.Go(func() {
			if w := probe(r, `{"text":"!echo x","lease":"`+lease+`"}`, nil); !strings.Contains(w.Body.String(), `"outcome":"ok"`) {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
	all.Wait()
}

func TestSelftestWhoseCallerWentAwayHoldsNothing(t *testing.T) {
	slow := newGated("slow")
	r := newRig(t, bot.Options{SelftestGroup: groupID, Limit: 1}, slow.Command, echo())
	ctx, gone := context.WithCancel(t.Context())
	var asked sync.WaitGroup
	asked.Go(func() { probe(r, `{"text":"!slow"}`, func(q *http.Request) { *q = *q.WithContext(ctx) }) })
	r.eventually("it runs", func() bool { return slow.running.Load() == 1 })
	gone()
	asked.Wait()
	close(slow.let)
	r.next()
	if w := probe(r, `{"text":"!echo x"}`, nil); w.Code != http.StatusOK {
		t.Errorf("the next one: status %d: %s", w.Code, w.Body)
	}
}

// A bot that stops takes no self-test in, says so, and answers those it has.
func TestSelftestWhileStopping(t *testing.T) {
	slow := newGated("slow")
	r := newRig(t, bot.Options{SelftestGroup: groupID}, slow.Command, echo())
	var before, stopped sync.WaitGroup
	before.Go(func() {
		if w := probe(r, `{"text":"!slow"}`, nil); w.Code != http.StatusOK {
			t.Errorf("asked before: status %d: %s", w.Code, w.Body)
		}
	})
	r.eventually("it runs", func() bool { return slow.running.Load() == 1 })
	stopped.Go(r.stop)
	r.eventually("a later one is refused", func() bool {
		w := probe(r, `{"text":"!echo x"}`, func(q *http.Request) {
			ctx, cancel := context.WithTimeout(q.Context(), 50*time.Millisecond) // it waits behind the slow one until the bot stops
			t.Cleanup(cancel)
			*q = *q.WithContext(ctx)
		})
		return w.Code == http.StatusServiceUnavailable && strings.Contains(w.Body.String(), "shutdown")
	})
	close(slow.let)
	before.Wait()
	stopped.Wait()
}
