package stack

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Metrics are the lines of one scrape.
type Metrics string

// Metrics scrapes botd.
func (w *World) Metrics(t testing.TB) Metrics {
	t.Helper()
	return Metrics(Get(t, w.Admin+"/metrics"))
}

// Get returns what is at a URL, whatever its status.
func Get(t testing.TB, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Sum adds up the series of a name that have all these labels, each written as
// name="value".
func (m Metrics) Sum(name string, labels ...string) float64 {
	sum := 0.0
series:
	for line := range strings.Lines(string(m)) {
		rest, ours := strings.CutPrefix(line, name+"{")
		if !ours {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue series
			}
		}
		fields := strings.Fields(rest[strings.LastIndexByte(rest, '}')+1:])
		if len(fields) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(fields[0], 64); err == nil {
			sum += v
		}
	}
	return sum
}

// Within is the bound of a histogram's bucket within which a share of its values
// lies, over all its series; infinite where that is beyond the last one.
func (m Metrics) Within(name string, share float64) float64 {
	enough := share * m.Sum(name+"_count")
	bound := math.Inf(1)
	for line := range strings.Lines(string(m)) {
		_, rest, ours := strings.Cut(line, `le="`)
		if !ours || !strings.HasPrefix(line, name+"_bucket{") {
			continue
		}
		le, _, _ := strings.Cut(rest, `"`)
		if v, err := strconv.ParseFloat(le, 64); err == nil && v < bound && m.Sum(name+"_bucket", `le="`+le+`"`) >= enough {
			bound = v
		}
	}
	return bound
}

// Idle reports whether nothing waits and nothing is handled.
func (m Metrics) Idle() bool { return m.Sum("quartet_budget_usage") == 0 }
