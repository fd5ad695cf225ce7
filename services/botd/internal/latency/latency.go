// Package latency measures a running botd from outside: it asks for self-tests
// one after another and holds the bot's own share of each to a budget.
//
// What Signal and the public APIs take is reported and not judged: it is not
// the bot's to mend.
package latency

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Budget is what the bot's own share may take at the 95th percentile.
const Budget = 100 * time.Millisecond

// Ask is what to measure.
type Ask struct {
	Target *url.URL // base URL of the bot's admin server
	Text   string   // the command, as "!pomoc"
	Times  int      // how many replies
}

// Sample is one reply: the fields of the timing block, milliseconds, and the
// round trip as the caller saw it.
type Sample struct {
	Outcome   string
	Error     string
	Fields    map[string]float64
	RoundTrip float64
}

// lease is how long the bot lifts the cooldown for each self-test. It covers
// one reply; the next request takes the next one.
const lease = 2 * time.Minute

// maxAnswer bounds what is read of one answer.
const maxAnswer = 64 << 10

// Run asks for the replies one after another and calls after behind each, with
// their number so far. It returns a sample for each, up to the first error.
func Run(ctx context.Context, client *http.Client, a Ask, after func(n int)) ([]Sample, error) {
	var samples []Sample
	for range a.Times {
		s, err := one(ctx, client, a)
		if err != nil {
			return samples, err
		}
		samples = append(samples, s)
		after(len(samples))
	}
	return samples, nil
}

func one(ctx context.Context, client *http.Client, a Ask) (Sample, error) {
	body, err := json.Marshal(map[string]string{"text": a.Text, "lease": lease.String()})
	if err != nil {
		return Sample{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Target.JoinPath("/_selftest").String(), bytes.NewReader(body))
	if err != nil {
		return Sample{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	start := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // the caller knows what it asked
		}
		return Sample{}, fmt.Errorf("%w (TARGET is the BOTD_ADMIN_ADDR of a botd that runs)", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Sample{}, err
	}
	roundTrip := time.Since(start)
	if resp.StatusCode != http.StatusOK {
		return Sample{}, fmt.Errorf("HTTP status %d: %.500s", resp.StatusCode, strings.TrimSpace(string(raw)))
	}
	var answer struct {
		Outcome string             `json:"outcome"`
		Error   string             `json:"error"`
		Timing  map[string]float64 `json:"timing"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return Sample{}, fmt.Errorf("read the answer: %w", err)
	}
	if _, ok := answer.Timing["own_ms"]; !ok {
		return Sample{}, errors.New("read the answer: it has no own_ms")
	}
	return Sample{answer.Outcome, answer.Error, answer.Timing, float64(roundTrip) / float64(time.Millisecond)}, nil
}

// columns are the fields reported, in the order in which time passes.
var columns = []string{"queue_ms", "dispatch_ms", "compute_ms", "store_ms", "upstream_ms", "send_ms", "own_ms", "total_ms"}

const roundTrip = "round_trip_ms"

// Summary is one field over all samples, milliseconds.
type Summary struct {
	Field string  `json:"field"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	Max   float64 `json:"max"`
}

// Report is what a run found.
type Report struct {
	Text     string    `json:"text"`
	Times    int       `json:"times"`
	Failed   int       `json:"failed"`          // replies whose outcome was not ok
	Error    string    `json:"error,omitempty"` // of one of them
	BudgetMs float64   `json:"budget_ms"`
	OverMs   float64   `json:"over_ms"` // by how much p95 of own_ms is over it; 0 when it is not
	Fields   []Summary `json:"fields"`
}

// Summarize sums samples up. There must be at least one.
func Summarize(text string, samples []Sample) Report {
	r := Report{Text: text, Times: len(samples), BudgetMs: float64(Budget) / float64(time.Millisecond)}
	for _, s := range samples {
		if s.Outcome != "ok" {
			r.Failed++
			r.Error = s.Outcome + ": " + s.Error
		}
	}
	for _, field := range append(slices.Clone(columns), roundTrip) {
		values := make([]float64, 0, len(samples))
		for _, s := range samples {
			if field == roundTrip {
				values = append(values, s.RoundTrip)
			} else {
				values = append(values, s.Fields[field])
			}
		}
		slices.Sort(values)
		sum := Summary{field, percentile(values, 50), percentile(values, 95), values[len(values)-1]}
		if field == "own_ms" {
			r.OverMs = max(0, sum.P95-r.BudgetMs)
		}
		r.Fields = append(r.Fields, sum)
	}
	return r
}

// Passed reports whether every reply went out and the bot's own share kept to
// the budget.
func (r Report) Passed() bool { return r.Failed == 0 && r.OverMs == 0 }

// percentile is the value that p percent of sorted do not exceed (nearest rank).
func percentile(sorted []float64, p int) float64 {
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}

// WriteText prints the report for people.
func (r Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d x %s\n\n%-14s %10s %10s %10s\n", r.Times, r.Text, "", "p50", "p95", "max")
	for _, f := range r.Fields {
		fmt.Fprintf(&b, "%-14s %10.3f %10.3f %10.3f\n", f.Field, f.P50, f.P95, f.Max)
	}
	b.WriteByte('\n')
	if r.Failed > 0 {
		fmt.Fprintf(&b, "%d of %d replies did not go out, the last: %s\n", r.Failed, r.Times, r.Error)
	}
	if r.OverMs > 0 {
		fmt.Fprintf(&b, "over budget: own_ms at p95 is %.3f ms over %.0f ms\n", r.OverMs, r.BudgetMs)
	} else {
		fmt.Fprintf(&b, "own_ms at p95 keeps to the budget of %.0f ms; round_trip_ms is reported, not judged\n", r.BudgetMs)
	}
	_, err := w.Write(b.Bytes())
	return err
}
