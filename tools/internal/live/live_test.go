package live

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quartet/tools/internal/dash"
)

// prometheus answers range and instant queries by their text.
func prometheus(t *testing.T, answers map[string]string) *Run {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.FormValue("query")]
		if !ok {
			http.Error(w, `{"error":"parse error"}`, http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, `{"status":"success","data":`+answer+`}`)
	}))
	t.Cleanup(server.Close)
	now := time.Now()
	return &Run{Prometheus: &Prometheus{url: server.URL}, Whole: Window{now.Add(-time.Minute), now}}
}

func TestQueriesThatFindNothingAreFaults(t *testing.T) {
	run := prometheus(t, map[string]string{
		`some{job=~".+"}`: `{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1,"NaN"],[2,"1"]]}]}`,
		`none{job=~".+"}`: `{"resultType":"matrix","result":[]}`,
		`nan`:             `{"resultType":"vector","result":[{"metric":{},"value":[1,"NaN"]}]}`,
		`vector(1)`:       `{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]}]}`,
	})
	board := dash.Board{UID: "x", Panels: []dash.Panel{{Title: "p", Targets: []dash.Target{
		{RefID: "A", Expr: `some{job=~"$job"}`}, {RefID: "B", Expr: `none{job=~"$job"}`},
		{RefID: "C", Expr: "nan", Instant: true}, {RefID: "D", Expr: "vector(1)", Instant: true}, {RefID: "E", Expr: "(("},
	}}}}
	got, err := run.Queries(t.Context(), board)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"x: p B: finds nothing", "x: p C: finds nothing", "x: p E: "}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	if !strings.Contains(got[2], "parse error") {
		t.Errorf("what Prometheus says is not told: %q", got[2])
	}
}

func TestATraceIsFoundByTheIDOfAnExemplar(t *testing.T) {
	c, err := collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	const id, other = "00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100"
	raw, _ := hex.DecodeString(id)
	res, err := http.Post(c.url+"/v1/traces", "application/x-protobuf", strings.NewReader("before"+string(raw)+"after"))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	res.Body.Close()
	if !c.has(id) || c.has(other) || c.has("") || c.has("zz") {
		t.Errorf("has %v, other %v, none %v", c.has(id), c.has(other), c.has(""))
	}
}

func TestEveryRuleOfAlertsCanFail(t *testing.T) {
	known := dash.Catalogue{"a_total": "counter"}
	good := func() Rule {
		return Rule{Name: "BotdIll", Type: "alerting", Query: "a_total > 0", Health: "ok", Labels: map[string]string{"severity": "critical"},
			Annotations: map[string]string{"summary": "It is ill.", "description": "{{ $value }}", "runbook_url": "docs/runbooks.md#botdill"}}
	}
	tests := strings.Repeat("alertname: BotdIll\n", 3)
	const runbooks = "# Runbooks\n\n## BotdIll\n\nRest.\n"
	if got := Faults(good(), known, runbooks, tests); len(got) > 0 {
		t.Errorf("a good alert: %q", got)
	}
	cases := map[string]func(*Rule){
		"is not evaluated":       func(r *Rule) { r.Health = "err" },
		"no service exports b":   func(r *Rule) { r.Query = "a_total > b" },
		"does not begin":         func(r *Rule) { r.Name = "Ill" },
		"severity":               func(r *Rule) { r.Labels["severity"] = "high" },
		"summary":                func(r *Rule) { r.Annotations["summary"] = "{{ $value }}" },
		"wants a description":    func(r *Rule) { r.Annotations["description"] = "" },
		"no section":             func(r *Rule) { r.Annotations["runbook_url"] = "" },
		"is not tested":          func(r *Rule) { r.Name = "BotdOther" },
		"level:metric:operation": func(r *Rule) { r.Type = "recording" },
	}
	for want, spoil := range cases {
		r := good()
		spoil(&r)
		if got := strings.Join(Faults(r, known, runbooks, tests), "\n"); !strings.Contains(got, want) {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

func TestARuleThatMatchesNothingIsAFault(t *testing.T) {
	one := `{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]}]}`
	run := prometheus(t, map[string]string{
		`last_over_time(a_total{x="y"}[10m])`: one,
		`last_over_time(a_total{x="z"}[10m])`: `{"resultType":"vector","result":[]}`,
	})
	known := dash.Catalogue{"a_total": "counter"}
	for x, want := range map[string]int{"y": 0, "z": 1} {
		rule := Rule{Name: "r", Query: fmt.Sprintf(`increase(a_total{x=%q}[5m]) > recorded:a:b`, x)}
		got, err := run.Matches(t.Context(), rule, known)
		if err != nil || len(got) != want {
			t.Errorf("%s: got %q, %v", x, got, err)
		}
	}
}
