// Package live runs the system with a real Prometheus beside it, makes the
// ordinary and the rare happen, and asks every query of every board.
//
// All of it is on loopback, in a temporary folder, and ends with Close. It takes
// about a minute and a half. It checks that queries find numbers, not that the
// numbers are good ones.
package live

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"quartet/tools/internal/dash"
)

// Options say what to run and where.
type Options struct {
	Quartet    string        // the launcher, with the other programs beside it
	Prometheus string        // the program
	Rules      []string      // rule files of the deployment
	Ports      int           // a row of six ports begins here
	Calm       time.Duration // how long people ask while nothing is wrong
	Say        func(string)  // told what is being done
}

// Run is a system that ran for a while, and still does.
type Run struct {
	*Prometheus
	stack *stack
	dir   string

	Calm  Window // while nothing was wrong
	Whole Window // all of it
}

// Window is a span of time.
type Window struct{ From, To time.Time }

// Start runs the system until there is something to see. Close it.
func Start(ctx context.Context, o Options) (r *Run, err error) {
	r = &Run{}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.dir, err = os.MkdirTemp("", "quartet-dashboards-"); err != nil {
		return r, err
	}
	o.Say("starting the system and Prometheus")
	if r.stack, err = startStack(ctx, o.Quartet, r.dir, o.Ports); err != nil {
		return r, err
	}
	addr := "127.0.0.1:" + strconv.Itoa(o.Ports+5)
	targets := map[string]string{"prometheus": addr}
	for job, url := range r.stack.services() {
		targets[job] = strings.TrimPrefix(url, "http://")
	}
	if r.Prometheus, err = startPrometheus(ctx, o.Prometheus, r.dir, addr, o.Rules, targets); err != nil {
		return r, err
	}
	if err = eventually(ctx, 30*time.Second, r.scraped(ctx)); err != nil {
		return r, err
	}
	r.Whole.From = time.Now()
	r.Calm.From = r.Whole.From
	o.Say(fmt.Sprintf("people ask for %v", o.Calm))
	if err = r.stack.calm(ctx, o.Calm); err != nil {
		return r, err
	}
	r.Calm.To = time.Now()
	o.Say("trouble: a rush, refusals, silence, lost connections, nonsense")
	if err = r.stack.trouble(ctx); err != nil {
		return r, err
	}
	r.Whole.To = time.Now()
	return r, nil
}

// scraped waits until the services were scraped twice, so that what increases can.
func (r *Run) scraped(ctx context.Context) func() error {
	return func() error {
		found, err := r.Instant(ctx, `count_over_time(up{job!="prometheus"}[1m]) >= 2 and up{job!="prometheus"} == 1`, time.Now())
		if missing := len(r.stack.services()) - len(found); err == nil && missing > 0 {
			err = fmt.Errorf("%d services were not scraped", missing)
		}
		return err
	}
}

// Close ends all of it.
func (r *Run) Close() {
	if r.Prometheus != nil {
		r.Prometheus.stop()
	}
	if r.stack != nil {
		r.stack.stop()
	}
	if r.dir != "" {
		_ = os.RemoveAll(filepath.Clean(r.dir))
	}
}

// Exported is what the services export now.
func (r *Run) Exported(ctx context.Context) (dash.Catalogue, error) {
	all := dash.Catalogue{}
	for _, url := range r.stack.services() {
		c, err := exported(ctx, url)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, c)
	}
	return all, nil
}

func exported(ctx context.Context, service string) (dash.Catalogue, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, service+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return dash.ReadExposition(res.Body)
}

// Choice are values for a board's variables; what is not there is everything.
type Choice map[string]string

// expand puts what was chosen in the place of a query's variables.
func expand(t dash.Target, w Window, c Choice) string {
	values := []string{"$__rate_interval", "15s", "$__range", fmt.Sprintf("%ds", int(w.To.Sub(w.From).Seconds()))}
	for _, name := range []string{"operation", "instance", "peer", "job"} {
		value := c[name]
		if value == "" {
			value = ".+"
		}
		values = append(values, "$"+name, value)
	}
	return dash.Expand(t.Expr, values...)
}

// Ask asks one query of a panel for a window of time.
func (r *Run) Ask(ctx context.Context, t dash.Target, w Window, c Choice) ([]Series, error) {
	query := expand(t, w, c)
	if t.Instant {
		return r.Instant(ctx, query, w.To)
	}
	return r.Range(ctx, query, w.From, w.To)
}

// traceArrived reports whether some exemplar of a query leads to a trace that
// was exported.
func (r *Run) traceArrived(ctx context.Context, t dash.Target) (bool, error) {
	ids, err := r.Traces(ctx, expand(t, r.Whole, nil), r.Whole.From, r.Whole.To)
	for _, id := range ids {
		if r.stack.traces.has(id) {
			return true, nil
		}
	}
	return false, err
}
