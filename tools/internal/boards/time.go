package boards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// Whose time it is, by colour: blue and green are ours, warm colours are others'.
const (
	colorQueue    = "#1F60C4"
	colorDispatch = "#37872D"
	colorCompute  = "#56A64B"
	colorStore    = "#8AB8FF"
	colorOwn      = "#3274D9"
	colorUpstream = "#FF9830"
	colorSend     = "#E02F44"
	colorFine     = "#37872D"
	colorNear     = "#FF9830"
	colorBad      = "#E02F44"
)

// whereTheTimeGoes answers one question of any service: was that us?
func whereTheTimeGoes() *builder {
	return base("quartet-time", "Where the time goes",
		"Whose time a request takes: the service's own, upstream's (others who work for it), or that of sending the outcome. "+
			"Blue and green are ours, orange and red are others'. What queue, dispatch, compute and store are is in docs/decisions/0002-time.md.",
		choice("operation", "Operation", `label_values(quartet_request_duration_seconds_count{job=~"$job"}, operation)`),
		choice("peer", "Peer", `label_values(quartet_upstream_call_duration_seconds_count{job=~"$job"}, service_peer_name)`)).
		WithPanel(figure("Own, 95th percentile", "What the service itself took, of the slowest request in twenty. The budget is 100 ms.", "s",
			query{expr: `histogram_quantile(0.95, sum by (le) (rate(quartet_request_own_duration_seconds_bucket{@, operation=~"$operation"}[$__range])))`},
			below(colorFine), from(0.05, colorNear), from(0.1, colorBad)).Span(6).Height(4)).
		WithPanel(figure("Own share of the wait", "Of the time that requests took, the part that was the service's own.", "percentunit",
			query{expr: `sum(rate(quartet_request_own_duration_seconds_sum{@, operation=~"$operation"}[$__range])) / ` +
				`sum(rate(quartet_request_duration_seconds_sum{@, operation=~"$operation"}[$__range]))`},
			below(colorFine), from(0.1, colorNear), from(0.5, colorBad)).Span(6).Height(4)).
		WithPanel(figure("Whole wait, mean", "From the reading of a request's frame to its end, whoever worked on it.", "s",
			query{expr: `sum(rate(quartet_request_duration_seconds_sum{@, operation=~"$operation"}[$__range])) / ` +
				`sum(rate(quartet_request_duration_seconds_count{@, operation=~"$operation"}[$__range]))`},
			below("text")).Span(6).Height(4)).
		WithPanel(figure("Requests", "How many requests ended in the time that is shown.", "short",
			query{expr: `sum(increase(quartet_request_duration_seconds_count{@, operation=~"$operation"}[$__range]))`},
			below("text")).Decimals(0).Span(6).Height(4)).
		WithPanel(bars("Whose time a request takes", "Mean of the time that is shown, by operation.", "s", "operation",
			query{expr: `sum by (operation) (rate(quartet_request_own_duration_seconds_sum{@, operation=~"$operation"}[$__range])) / ` +
				`sum by (operation) (rate(quartet_request_duration_seconds_count{@, operation=~"$operation"}[$__range]))`, legend: "own"},
			phaseMean("upstream"), phaseMean("send")).
			OverrideByName("own", colored(colorOwn)).
			OverrideByName("upstream", colored(colorUpstream)).
			OverrideByName("send", colored(colorSend)).
			Span(12).Height(9)).
		WithPanel(inPhaseColors(stacked("Mean time of a request, by phase",
			"The phases do not overlap: they add up to the whole wait. Queue, dispatch, compute and store are own.", "s",
			query{expr: `sum by (phase) (rate(quartet_request_phase_duration_seconds_sum{@, operation=~"$operation"}[$__rate_interval])) / ignoring (phase) group_left () ` +
				`sum(rate(quartet_request_duration_seconds_count{@, operation=~"$operation"}[$__rate_interval]))`, legend: "{{phase}}"})).
			Span(12).Height(9)).
		WithPanel(percentiles("Own", "The service's own time. The budget is 100 ms for the 95th percentile.",
			`quartet_request_own_duration_seconds_bucket{@, operation=~"$operation"}`).
			Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
				Steps([]dashboard.Threshold{below("transparent"), from(0.1, colorBad)})).
			ThresholdsStyle(dashedLine()).Span(8).Height(8)).
		WithPanel(percentiles("Upstream", "What others took who worked for a request; none of requests that ask nobody.",
			`quartet_request_phase_duration_seconds_bucket{@, operation=~"$operation", phase="upstream"}`).Span(8).Height(8)).
		WithPanel(percentiles("Send", "What it took to send the outcome, until the other side confirmed it.",
			`quartet_request_phase_duration_seconds_bucket{@, operation=~"$operation", phase="send"}`).Span(8).Height(8)).
		WithPanel(heat("Own, every request", "How many requests a second took how long of the service's own time. A dot is a request with a trace: click it.", "s",
			query{expr: `sum by (le) (rate(quartet_request_own_duration_seconds_bucket{@, operation=~"$operation"}[$__rate_interval]))`, legend: "{{le}}", exemplars: true}).
			Span(12).Height(9)).
		WithPanel(curves("Own share by operation", "Of the time that requests took, the part that was the service's own.", "percentunit",
			query{expr: `sum by (job, operation) (rate(quartet_request_own_duration_seconds_sum{@, operation=~"$operation"}[$__rate_interval])) / ` +
				`sum by (job, operation) (rate(quartet_request_duration_seconds_sum{@, operation=~"$operation"}[$__rate_interval]))`, legend: "{{job}} {{operation}}"}).
			Max(1).Span(12).Height(9)).
		WithPanel(peers().Span(24).Height(8))
}

// phaseMean is a phase's part of the mean request, zero where it has none.
func phaseMean(phase string) query {
	count := `sum by (operation) (rate(quartet_request_duration_seconds_count{@, operation=~"$operation"}[$__range]))`
	return query{legend: phase,
		expr: `(sum by (operation) (rate(quartet_request_phase_duration_seconds_sum{@, operation=~"$operation", phase="` + phase + `"}[$__range])) or 0 * ` + count + `) / ` + count}
}
