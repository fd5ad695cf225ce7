package latency_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"quartet/services/botd/internal/latency"
)

func samples(own ...float64) []latency.Sample {
	var all []latency.Sample
	for _, ms := range own {
		all = append(all, latency.Sample{Outcome: "ok", Fields: map[string]float64{"own_ms": ms, "send_ms": 2648}, RoundTrip: 5000})
	}
	return all
}

func field(t *testing.T, r latency.Report, name string) latency.Summary {
	t.Helper()
	for _, f := range r.Fields {
		if f.Field == name {
			return f
		}
	}
	t.Fatalf("the report has no %s", name)
	return latency.Summary{}
}

func TestBudgetIsHeldAtThe95thPercentile(t *testing.T) {
	oneSlow := append(make([]float64, 19), 500) // of 20, one may be slow
	for i := range 19 {
		oneSlow[i] = 100
	}
	if r := latency.Summarize("!pomoc", samples(oneSlow...)); !r.Passed() || r.OverMs != 0 {
		t.Errorf("one of twenty over budget: %+v", r)
	}
	oneSlow[18] = 100.5
	r := latency.Summarize("!pomoc", samples(oneSlow...))
	if r.Passed() || r.OverMs != 0.5 {
		t.Errorf("two of twenty over budget: %+v", r)
	}
	if own := field(t, r, "own_ms"); own.P50 != 100 || own.P95 != 100.5 || own.Max != 500 {
		t.Errorf("own_ms is %+v", own)
	}
}

// What others take is reported and never judged.
func TestOthersTimeIsNotJudged(t *testing.T) {
	r := latency.Summarize("!kot", samples(1, 1, 1))
	if !r.Passed() || field(t, r, "send_ms").P95 != 2648 || field(t, r, "round_trip_ms").P50 != 5000 {
		t.Errorf("%+v", r)
	}
}

func TestAReplyThatDidNotGoOutFails(t *testing.T) {
	all := samples(1, 1)
	all[1].Outcome, all[1].Error = "upstream_error", "HTTP status 429"
	r := latency.Summarize("!kot", all)
	if r.Passed() || r.Failed != 1 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "HTTP status 429") {
		t.Errorf("%v, the report does not say why:\n%s", err, text.String())
	}
}

func TestRunAsksForEachReplyWithALease(t *testing.T) {
	var asked []map[string]string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		asked = append(asked, body)
		fmt.Fprint(w, `{"outcome":"ok","timing":{"own_ms":0.4,"send_ms":3}}`)
	}))
	defer s.Close()
	target, _ := url.Parse(s.URL)
	progress := 0
	got, err := latency.Run(t.Context(), s.Client(), latency.Ask{Target: target, Text: "!ja", Times: 3}, func(n int) { progress = n })
	if err != nil || len(got) != 3 || progress != 3 || got[2].Fields["own_ms"] != 0.4 || got[2].RoundTrip <= 0 {
		t.Errorf("%+v, progress %d, %v", got, progress, err)
	}
	for _, body := range asked {
		if body["text"] != "!ja" || body["lease"] == "" {
			t.Errorf("asked with %v", body)
		}
	}
}

func TestRunSaysWhatTheBotSaid(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "set BOTD_SELFTEST_GROUP", http.StatusConflict)
	}))
	defer s.Close()
	target, _ := url.Parse(s.URL)
	if _, err := latency.Run(t.Context(), s.Client(), latency.Ask{Target: target, Text: "!ja", Times: 3}, func(int) {}); err == nil || err.Error() != "HTTP status 409: set BOTD_SELFTEST_GROUP" {
		t.Errorf("error %v", err)
	}
}
