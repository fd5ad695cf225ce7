package dash

import (
	"fmt"
	"slices"
	"strings"
)

// Catalogue is what services export: the type of each metric, by the name that
// Prometheus has it under.
type Catalogue map[string]string

// common are the metrics that Prometheus makes of every scrape, and those that
// every Go program with its client has.
var common = Catalogue{"up": "gauge", "scrape_duration_seconds": "gauge", "scrape_samples_scraped": "gauge",
	"go_goroutines": "gauge", "process_resident_memory_bytes": "gauge"}

// Type is the type of what a query reads under a name: a histogram's buckets,
// sums and counts are counters.
func (c Catalogue) Type(metric string) (string, bool) {
	if t, ok := common[metric]; ok {
		return t, true
	}
	if t, ok := c[metric]; ok && t != "histogram" {
		return t, true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, cut := strings.CutSuffix(metric, suffix); cut && c[name] == "histogram" {
			return "counter", true
		}
	}
	return "", false
}

// units are those of Grafana's that we use.
var units = []string{"s", "short", "percentunit", "bytes"}

// Lint returns what is wrong with a board, one line each.
func Lint(b Board, known Catalogue) []string {
	l := linter{board: b, known: known}
	l.head()
	l.layout()
	for _, p := range b.Panels {
		if !p.IsRow() {
			l.panel(p)
		}
	}
	return l.faults
}

type linter struct {
	board  Board
	known  Catalogue
	faults []string
}

func (l *linter) fault(where, format string, args ...any) {
	l.faults = append(l.faults, l.board.UID+": "+where+": "+fmt.Sprintf(format, args...))
}

// head checks the board as a whole and the choices at its top.
func (l *linter) head() {
	b := l.board
	if !strings.HasPrefix(b.UID, "quartet-") || b.Title == "" {
		l.fault("board", "wants a uid that begins with quartet-, and a title")
	}
	if b.Editable {
		l.fault("board", "is editable; a change in Grafana would be lost, so that nobody is to try")
	}
	for name, kind := range map[string]string{"datasource": "datasource", "job": "query", "instance": "query"} {
		i := slices.IndexFunc(b.Templating.List, func(v Variable) bool { return v.Name == name && v.Type == kind })
		if i < 0 {
			l.fault("board", "has no variable %s of type %s", name, kind)
			continue
		}
		if name == "datasource" && b.Templating.List[i].Label != "Data Source" {
			l.fault("variable datasource", "is not called Data Source")
		}
	}
	for _, v := range b.Templating.List {
		if v.Type == "query" && v.Refresh != 2 {
			l.fault("variable "+v.Name, "is not asked for again when the time changes")
		}
		if query, ok := v.Query.(string); ok && v.Type == "query" {
			l.metrics("variable "+v.Name, insideLabelValues(query))
		}
	}
}

// insideLabelValues is the selector in label_values(selector, label).
func insideLabelValues(query string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(query, "label_values("), ")")
	if i := strings.LastIndexByte(inner, ','); i >= 0 {
		return inner[:i]
	}
	return inner
}

// layout checks that panels are told apart, and lie beside each other.
func (l *linter) layout() {
	ids := map[int]bool{}
	for i, p := range l.board.Panels {
		if p.ID == 0 || ids[p.ID] {
			l.fault(p.Title, "has no id of its own")
		}
		ids[p.ID] = true
		if p.Grid.W < 1 || p.Grid.H < 1 || p.Grid.X < 0 || p.Grid.X+p.Grid.W > 24 {
			l.fault(p.Title, "does not fit on the grid")
		}
		for _, q := range l.board.Panels[:i] {
			if p.Grid.X < q.Grid.X+q.Grid.W && q.Grid.X < p.Grid.X+p.Grid.W && p.Grid.Y < q.Grid.Y+q.Grid.H && q.Grid.Y < p.Grid.Y+p.Grid.H {
				l.fault(p.Title, "lies on %q", q.Title)
			}
		}
	}
}

func (l *linter) panel(p Panel) {
	if p.Title == "" || p.Description == "" {
		l.fault(fmt.Sprintf("panel %d", p.ID), "wants a title and a description")
	}
	if p.Datasource == nil || p.Datasource.UID != "${datasource}" {
		l.fault(p.Title, "does not take its data from ${datasource}")
	}
	if p.Type != "table" && !slices.Contains(units, p.Fields.Defaults.Unit) {
		l.fault(p.Title, "has the unit %q, which is none of %v", p.Fields.Defaults.Unit, units)
	}
	if len(p.Targets) == 0 {
		l.fault(p.Title, "asks for nothing")
	}
	letters := map[string]bool{}
	for _, t := range p.Targets {
		where := p.Title + " " + t.RefID
		if t.RefID == "" || letters[t.RefID] {
			l.fault(where, "is a query without a letter of its own")
		}
		letters[t.RefID] = true
		l.query(where, t.Expr)
	}
}

// query checks one query.
func (l *linter) query(where, expr string) {
	l.metrics(where, expr)
	for _, u := range Uses(expr) {
		for _, m := range []string{`job=~"$job"`, `instance=~"$instance"`} {
			if !slices.Contains(u.Matchers, m) {
				l.fault(where, "%s is not matched by %s", u.Metric, m)
			}
		}
		overTime := len(u.Calls) > 0 && slices.Contains([]string{"rate", "irate", "increase"}, u.Calls[0])
		if overTime && u.Range != "$__rate_interval" && u.Range != "$__range" {
			l.fault(where, "%s is taken over [%s], not [$__rate_interval] or [$__range]", u.Metric, u.Range)
		}
		kind, _ := l.known.Type(u.Metric)
		if overTime && kind == "gauge" {
			l.fault(where, "%s is a gauge: it has no %s", u.Metric, u.Calls[0])
		}
	}
}

// metrics checks that somebody exports what a query names.
func (l *linter) metrics(where, expr string) {
	for _, u := range Uses(expr) {
		if _, ok := l.known.Type(u.Metric); u.Metric != "" && !ok {
			l.fault(where, "no service exports %s", u.Metric)
		}
	}
}
