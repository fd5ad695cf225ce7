package live

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"quartet/tools/internal/dash"
)

// recordedName is level:metric:operations.
var recordedName = regexp.MustCompile(`^[a-z_]+:[a-z0-9_]+:[a-z0-9_]+$`)

// Matches says what a rule reads and does not find: an alert that matches nothing
// never fires. The system must have been through trouble.
func (r *Run) Matches(ctx context.Context, rule Rule, exported dash.Catalogue) ([]string, error) {
	var faults []string
	for _, u := range dash.Uses(rule.Query) {
		if _, ok := exported.Type(u.Metric); u.Metric == "" || !ok {
			continue // chosen by labels alone, or recorded by another rule
		}
		selector := u.Metric + "{" + strings.Join(u.Matchers, ",") + "}"
		found, err := r.Instant(ctx, "last_over_time("+selector+"[10m])", r.Whole.To)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			faults = append(faults, rule.Name+": finds nothing under "+selector)
		}
	}
	return faults, nil
}

// Faults says what is wrong with a rule: it reads what nobody exports, or its
// name says too little, or it is an alert that a person could not act on, or
// that nobody tests.
func Faults(r Rule, known dash.Catalogue, runbooks, tests string) []string {
	var faults []string
	fault := func(what string) { faults = append(faults, r.Name+": "+what) }
	if r.Health != "ok" {
		fault("is not evaluated: " + r.Health + " " + r.LastError)
	}
	for _, u := range dash.Uses(r.Query) {
		if _, ok := known.Type(u.Metric); u.Metric != "" && !ok {
			fault("no service exports " + u.Metric)
		}
	}
	if r.Type == "recording" {
		if !recordedName.MatchString(r.Name) {
			fault("is not called level:metric:operations")
		}
		return faults
	}
	if !slices.ContainsFunc([]string{"Quartet", "Botd", "Busd"}, func(who string) bool { return strings.HasPrefix(r.Name, who) }) {
		fault("does not begin with Quartet or the service's name")
	}
	if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
		fault("has no severity of critical, warning or info")
	}
	if s := r.Annotations["summary"]; s == "" || strings.Contains(s, "{{") {
		fault("wants a summary, the same for every time it fires")
	}
	if r.Annotations["description"] == "" {
		fault("wants a description")
	}
	if !strings.HasSuffix(r.Annotations["runbook_url"], "docs/runbooks.md#"+strings.ToLower(r.Name)) || !strings.Contains(runbooks, "\n## "+r.Name+"\n") {
		fault("has no section in docs/runbooks.md, or its runbook_url does not lead there")
	}
	if strings.Count(tests, "alertname: "+r.Name+"\n") < 3 {
		fault("is not tested to fire, not to fire, and to resolve")
	}
	return faults
}
