package dash

import (
	"strings"
	"testing"
)

var exported = Catalogue{"work_seconds": "histogram", "done_total": "counter", "used": "gauge"}

// clean is a board that every rule is content with.
const clean = `{"uid": "quartet-x", "title": "X", "editable": false,
	"templating": {"list": [
		{"name": "datasource", "type": "datasource", "label": "Data Source"},
		{"name": "job", "type": "query", "refresh": 2, "query": "label_values(done_total, job)"},
		{"name": "instance", "type": "query", "refresh": 2, "query": "label_values(used{job=~\"$job\"}, instance)"}]},
	"panels": [
		{"id": 1, "type": "row", "title": "Row", "gridPos": {"x": 0, "y": 0, "w": 24, "h": 1}},
		{"id": 2, "type": "timeseries", "title": "A", "description": "a", "datasource": {"uid": "${datasource}"}, "gridPos": {"x": 0, "y": 1, "w": 12, "h": 8},
			"fieldConfig": {"defaults": {"unit": "s"}},
			"targets": [
				{"refId": "A", "expr": "rate(done_total{job=~\"$job\", instance=~\"$instance\"}[$__rate_interval])"},
				{"refId": "B", "expr": "rate(work_seconds_sum{job=~\"$job\", instance=~\"$instance\"}[$__range])"}]},
		{"id": 3, "type": "stat", "title": "B", "description": "b", "datasource": {"uid": "${datasource}"}, "gridPos": {"x": 12, "y": 1, "w": 12, "h": 8},
			"fieldConfig": {"defaults": {"unit": "bytes"}},
			"targets": [{"refId": "A", "expr": "used{job=~\"$job\", instance=~\"$instance\"} and up{job=~\"$job\", instance=~\"$instance\"}"}]}]}`

func TestACleanBoardHasNoFaults(t *testing.T) {
	if got := lint(t, clean); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestEveryRuleCanFail(t *testing.T) {
	cases := []struct{ old, new, want string }{
		{`rate(done_total{`, `rate(undone_total{`, "no service exports undone_total"},
		{`rate(work_seconds_sum`, `rate(work_seconds`, "no service exports work_seconds"},
		{`label_values(done_total,`, `label_values(undone_total,`, "variable job: no service exports undone_total"},
		{`rate(done_total{job=~\"$job\", `, `rate(done_total{`, `done_total is not matched by job=~"$job"`},
		{`rate(done_total{job=~\"$job\", instance=~\"$instance\"}`, `rate(done_total{job=~\"$job\"}`, `done_total is not matched by instance=~"$instance"`},
		{`[$__rate_interval]`, `[5m]`, "over [5m]"},
		{`rate(done_total{`, `rate(used{`, "used is a gauge"},
		{`"quartet-x"`, `"x"`, "uid"},
		{`"editable": false`, `"editable": true`, "editable"},
		{`"name": "instance"`, `"name": "machine"`, "no variable instance"},
		{`"Data Source"`, `"Source"`, "Data Source"},
		{`"refresh": 2`, `"refresh": 1`, "asked for again"},
		{`"id": 3`, `"id": 2`, "no id of its own"},
		{`"x": 12`, `"x": 13`, "grid"},
		{`"x": 12`, `"x": 11`, `lies on "A"`},
		{`"description": "a"`, `"description": ""`, "title and a description"},
		{`{"uid": "${datasource}"}`, `{"uid": "mine"}`, "${datasource}"},
		{`"unit": "s"`, `"unit": "parsec"`, "parsec"},
		{`"refId": "B"`, `"refId": "A"`, "letter of its own"},
	}
	for _, c := range cases {
		board := strings.Replace(clean, c.old, c.new, 1)
		if board == clean {
			t.Errorf("%s is not in the clean board", c.old)
		}
		if got := strings.Join(lint(t, board), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot %q, want %q", c.new, got, c.want)
		}
	}
}

func lint(t *testing.T, text string) []string {
	t.Helper()
	b, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Lint(b, exported)
}

func TestACatalogueIsWrittenAsItIsRead(t *testing.T) {
	var b strings.Builder
	if err := exported.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadCatalogue(strings.NewReader("# for people\n\n" + b.String()))
	if err != nil || len(got.Lacks(exported)) > 0 || len(exported.Lacks(got)) > 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := ReadCatalogue(strings.NewReader("one two three")); err == nil {
		t.Error("three words on a line were taken")
	}
}

func TestAnExpositionNamesItsTypes(t *testing.T) {
	got, err := ReadExposition(strings.NewReader("# HELP used Used.\n# TYPE used gauge\nused 1\n# TYPE work_seconds histogram\n"))
	if err != nil || len(got) != 2 || got["used"] != "gauge" || got["work_seconds"] != "histogram" {
		t.Errorf("got %v, %v", got, err)
	}
}
