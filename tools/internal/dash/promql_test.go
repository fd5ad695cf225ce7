package dash

import (
	"reflect"
	"strings"
	"testing"
)

func TestUsesAreFound(t *testing.T) {
	cases := []struct {
		expr string
		want []Use
	}{
		{`up`, []Use{{Metric: "up"}}},
		{`1 + vector(0)`, nil},
		{`rate(a_total{job="x", b=~"y,}\"z"}[5m])`, []Use{{Metric: "a_total", Matchers: []string{`job="x"`, `b=~"y,}\"z"`}, Range: "5m", Calls: []string{"rate"}}}},
		{`histogram_quantile(0.95, sum by (le, job) (rate(a_bucket[$__rate_interval])))`,
			[]Use{{Metric: "a_bucket", Range: "$__rate_interval", Calls: []string{"rate", "histogram_quantile"}}}},
		{`sum(a) by (b) / ignoring (c) group_left () sum(d)`, []Use{{Metric: "a", Calls: []string{"sum"}}, {Metric: "d", Calls: []string{"sum"}}}},
		{`count({a="b"}) or vector(0)`, []Use{{Matchers: []string{`a="b"`}, Calls: []string{"count"}}}},
		{`job:a:rate5m > bool 3 * quantile_over_time(0.5, b:c[1d])`, []Use{{Metric: "job:a:rate5m"}, {Metric: "b:c", Range: "1d", Calls: []string{"quantile_over_time"}}}},
		{`a offset 5m and on (x) b unless c > Inf`, []Use{{Metric: "a"}, {Metric: "b"}, {Metric: "c"}}},
	}
	for _, c := range cases {
		if got := Uses(c.expr); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.expr, got, c.want)
		}
	}
}

func TestMatchersNameTheirLabels(t *testing.T) {
	u := Use{Matchers: []string{`a="b"`, `c!="=d"`, `e=~"f"`, `g !~ "h"`}}
	if got := strings.Join(u.Labels(), " "); got != "a c e g" {
		t.Errorf("got %q", got)
	}
}

// FuzzUses: whatever the text, it ends, and what it finds is in the text.
func FuzzUses(f *testing.F) {
	for _, seed := range []string{`a{b="c"}[5m]`, `{`, `[`, `(`, `"\`, `sum by (`, `a{b="`, `by(`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		for _, u := range Uses(expr) {
			if !strings.Contains(expr, u.Metric) || !strings.Contains(expr, u.Range) {
				t.Errorf("%q: %+v", expr, u)
			}
			u.Labels()
		}
	})
}
