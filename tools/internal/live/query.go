package live

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Series is one line of an answer.
type Series struct {
	Labels map[string]string
	Points []Point
}

// Point is a value at a time.
type Point struct {
	At    time.Time
	Value float64
}

// Empty reports whether there is no number in it.
func (s Series) Empty() bool {
	for _, p := range s.Points {
		if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
			return false
		}
	}
	return true
}

// Range asks for a query's values between two times.
func (p *Prometheus) Range(ctx context.Context, query string, from, to time.Time) ([]Series, error) {
	return p.query(ctx, "query_range", url.Values{"query": {query}, "start": {stamp(from)}, "end": {stamp(to)}, "step": {"1"}})
}

// Instant asks for a query's values at one time.
func (p *Prometheus) Instant(ctx context.Context, query string, at time.Time) ([]Series, error) {
	return p.query(ctx, "query", url.Values{"query": {query}, "time": {stamp(at)}})
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', 3, 64) }

func (p *Prometheus) query(ctx context.Context, path string, v url.Values) ([]Series, error) {
	var answer struct {
		Data struct {
			Type   string          `json:"resultType"`
			Result json.RawMessage `json:"result"`
		} `json:"data"`
	}
	if err := get(ctx, p.url+"/api/v1/"+path+"?"+v.Encode(), &answer); err != nil {
		return nil, err
	}
	if answer.Data.Type == "scalar" {
		var one sample
		err := json.Unmarshal(answer.Data.Result, &one)
		return []Series{{Points: []Point{Point(one)}}}, err
	}
	var lines []struct {
		Metric map[string]string
		Value  *sample
		Values []sample
	}
	if err := json.Unmarshal(answer.Data.Result, &lines); err != nil {
		return nil, fmt.Errorf("read Prometheus' answer: %w", err)
	}
	var all []Series
	for _, line := range lines {
		s := Series{Labels: line.Metric}
		if line.Value != nil {
			line.Values = append(line.Values, *line.Value)
		}
		for _, v := range line.Values {
			s.Points = append(s.Points, Point(v))
		}
		all = append(all, s)
	}
	return all, nil
}

// sample is a pair of seconds and a number in quotes.
type sample Point

func (s *sample) UnmarshalJSON(text []byte) error {
	var seconds float64
	var value string
	if err := json.Unmarshal(text, &[]any{&seconds, &value}); err != nil {
		return err
	}
	v, err := strconv.ParseFloat(value, 64)
	*s = sample{At: time.UnixMilli(int64(seconds * 1e3)), Value: v}
	return err
}

// Rule is what Prometheus made of a rule of the deployment.
type Rule struct {
	Name        string            `json:"name"`
	Type        string            `json:"type"` // alerting or recording
	Query       string            `json:"query"`
	Health      string            `json:"health"`
	LastError   string            `json:"lastError"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Rules are those that it evaluates.
func (p *Prometheus) Rules(ctx context.Context) ([]Rule, error) {
	var answer struct {
		Data struct{ Groups []struct{ Rules []Rule } }
	}
	if err := get(ctx, p.url+"/api/v1/rules", &answer); err != nil {
		return nil, err
	}
	var all []Rule
	for _, g := range answer.Data.Groups {
		all = append(all, g.Rules...)
	}
	return all, nil
}

// Traces are the ids of traces that a query's series have as exemplars.
func (p *Prometheus) Traces(ctx context.Context, query string, from, to time.Time) ([]string, error) {
	var answer struct {
		Data []struct {
			Exemplars []struct{ Labels map[string]string }
		}
	}
	v := url.Values{"query": {query}, "start": {stamp(from)}, "end": {stamp(to)}}
	if err := get(ctx, p.url+"/api/v1/query_exemplars?"+v.Encode(), &answer); err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range answer.Data {
		for _, e := range s.Exemplars {
			ids = append(ids, e.Labels["trace_id"])
		}
	}
	return ids, nil
}

// get fetches JSON; the error has what the server says.
func get(ctx context.Context, address string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	return do(r, answer)
}
