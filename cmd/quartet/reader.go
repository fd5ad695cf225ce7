package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"quartet/cmd/quartet/internal/summary"
)

// reader gets the programs' figures over HTTP, as Prometheus would.
type reader struct{ client *http.Client }

func newReader() *reader {
	return &reader{&http.Client{Timeout: time.Second, Transport: &http.Transport{MaxIdleConns: 8}}}
}

// line is one program's live line. A program that does not answer says so
// there: that it died is noticed elsewhere.
func (r *reader) line(ctx context.Context, p program) string {
	var text string
	var err error
	if p.metrics != "" {
		var s summary.Snapshot
		if s, err = r.snapshot(ctx, p.metrics); err == nil {
			text = s.Line(p.unit)
		}
	} else {
		text, err = r.simulator(ctx, p)
	}
	if err != nil {
		return "no figures: " + err.Error()
	}
	return text
}

// tables prints what each service did, operation by operation.
func (r *reader) tables(out io.Writer, all []program) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, p := range all {
		if p.metrics == "" {
			continue
		}
		s, err := r.snapshot(ctx, p.metrics)
		if err != nil {
			return fmt.Errorf("the last figures of %s: %w", p.Name, err)
		}
		fmt.Fprintf(out, "\n%s, times in ms\n", p.Name)
		if len(s) == 0 {
			fmt.Fprintln(out, "  no request has ended")
			continue
		}
		if err := s.Table(out); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) snapshot(ctx context.Context, url string) (summary.Snapshot, error) {
	body, err := r.get(ctx, url)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return summary.Parse(body)
}

// simulator shows the figures that the program's line of the table names.
func (r *reader) simulator(ctx context.Context, p program) (string, error) {
	body, err := r.get(ctx, p.stats)
	if err != nil {
		return "", err
	}
	defer body.Close()
	var stats map[string]any
	if err := json.NewDecoder(body).Decode(&stats); err != nil {
		return "", err
	}
	var shown []string
	for _, f := range p.figures {
		shown = append(shown, fmt.Sprintf("%6.0f %s", sum(stats[f.key]), f.what))
	}
	return strings.Join(shown, "  "), nil
}

// sum adds up a statistic that may be a number or numbers by reason.
func sum(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case map[string]any:
		total := 0.0
		for _, part := range v {
			total += sum(part)
		}
		return total
	}
	return 0
}

func (r *reader) get(ctx context.Context, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(errors.New(url+" answers "+resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}
