package boards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// backPressure shows what is bounded, how full it is, and what waits for it.
func backPressure() *builder {
	b := base("quartet-pressure", "Budgets and back-pressure",
		"Everything in a service that is bounded: how full it is, what waits for it, and what was turned away. A full budget with nobody waiting is a good use of it.")
	budgets(b)
	locks(b)
	connections(b)
	disks(b)
	selfCheck(b)
	return b
}

func budgets(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Budgets")).
		WithPanel(curves("Used, of the limit", "Units taken, as a share of what the budget has.", "percentunit",
			query{expr: `quartet_budget_usage{@} / quartet_budget_limit{@}`, legend: "{{budget_name}}"}).
			Max(1).Span(8).Height(8)).
		WithPanel(curves("Waiting", "Requests that wait for units of a budget.", "short",
			query{expr: `quartet_budget_waiting{@}`, legend: "{{budget_name}}"}).Span(8).Height(8)).
		WithPanel(curves("Wait, p95", "Of those who had to wait.", "s",
			query{expr: `histogram_quantile(0.95, sum by (job, budget_name, le) (rate(quartet_budget_wait_duration_seconds_bucket{@}[$__rate_interval])))`, legend: "{{budget_name}}"}).
			Span(8).Height(8)).
		WithPanel(curves("Turned away, per minute", "Requests that a budget gave nothing.", "short",
			query{expr: `60 * sum by (job, budget_name) (rate(quartet_budget_rejections_total{@}[$__rate_interval]))`, legend: "{{budget_name}}"}).
			Span(8).Height(8)).
		WithPanel(curves("Turned away, by reason", "Full, their time was over (deadline), they gave up (canceled), a stop (closed), or more than there is at all (too_large).", "short",
			query{expr: `60 * sum by (job, reason) (rate(quartet_budget_rejections_total{@}[$__rate_interval]))`, legend: "{{reason}}"}).
			Span(8).Height(8)).
		WithPanel(curves("Leases taken back", "Leases that their owners lost without giving them back. One is a bug.", "short",
			query{expr: `sum by (job, budget_name) (increase(quartet_budget_reclaimed_total{@}[$__rate_interval]))`, legend: "{{budget_name}}"}).
			Span(8).Height(8))
}

func locks(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Locks")).
		WithPanel(curves("Keys that are locked, and who waits", "A key is a person or a chat: whoever waits comes behind an earlier command of the same.", "short",
			query{expr: `quartet_lock_entries{@}`, legend: "{{lock_name}} locked"},
			query{expr: `quartet_lock_waiting{@}`, legend: "{{lock_name}} waiting"}).Span(6).Height(8)).
		WithPanel(curves("Wait, p95", "Of those who had to wait. Waits beyond 10 s show as 10 s.", "s",
			query{expr: `histogram_quantile(0.95, sum by (job, lock_name, le) (rate(quartet_lock_wait_duration_seconds_bucket{@}[$__rate_interval])))`, legend: "{{lock_name}}"}).
			Span(6).Height(8)).
		WithPanel(curves("Held, p95", "For how long a key was locked. Beyond 10 s shows as 10 s.", "s",
			query{expr: `histogram_quantile(0.95, sum by (job, lock_name, le) (rate(quartet_lock_hold_duration_seconds_bucket{@}[$__rate_interval])))`, legend: "{{lock_name}}"}).
			Span(6).Height(8)).
		WithPanel(curves("Turned away, per minute", "Requests that found too many waiters before them.", "short",
			query{expr: `60 * sum by (job, lock_name) (rate(quartet_lock_rejections_total{@}[$__rate_interval]))`, legend: "{{lock_name}}"}).
			Span(6).Height(8))
}

func connections(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Connections and caches")).
		WithPanel(curves("Open connections", "To each peer, by state.", "short",
			query{expr: `quartet_pool_connections{@}`, legend: "{{service_peer_name}} {{state}}"}).Span(6).Height(8)).
		WithPanel(curves("Handshake, p95", "Stages of opening a connection.", "s",
			query{expr: `histogram_quantile(0.95, sum by (job, service_peer_name, stage, le) (rate(quartet_pool_handshake_duration_seconds_bucket{@}[$__range])))`, legend: "{{service_peer_name}} {{stage}}"}).
			Span(6).Height(8)).
		WithPanel(curves("Calls on a new connection", "The share of calls that had to open one first.", "percentunit",
			query{expr: `sum by (job, service_peer_name) (rate(quartet_upstream_call_duration_seconds_count{@, connection_reused="false"}[$__rate_interval])) / ` +
				`sum by (job, service_peer_name) (rate(quartet_upstream_call_duration_seconds_count{@}[$__rate_interval]))`, legend: "{{service_peer_name}}"}).
			Max(1).Span(6).Height(8)).
		WithPanel(curves("Caches, per minute", "What a cache had: hit, miss, stale (an old value, while a new one is fetched) or error.", "short",
			query{expr: `60 * sum by (job, cache_name, result) (rate(quartet_cache_requests_total{@}[$__rate_interval]))`, legend: "{{cache_name}} {{result}}"}).
			Span(6).Height(8))
}

func disks(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Journals")).
		WithPanel(curves("Used, of the limit", "Bytes in a journal's segments, as a share of what they may take.", "percentunit",
			query{expr: `quartet_journal_usage_bytes{@} / quartet_journal_limit_bytes{@}`, legend: "{{journal_name}}"}).
			Max(1).Span(8).Height(8)).
		WithPanel(curves("Write, p99", "One write, of one or several who shared it.", "s",
			query{expr: `histogram_quantile(0.99, sum by (job, journal_name, le) (rate(quartet_journal_write_duration_seconds_bucket{@}[$__rate_interval])))`, legend: "{{journal_name}}"}).
			Span(8).Height(8)).
		WithPanel(curves("Sync, p99", "Until the disk has what was written.", "s",
			query{expr: `histogram_quantile(0.99, sum by (job, journal_name, le) (rate(quartet_journal_sync_duration_seconds_bucket{@}[$__rate_interval])))`, legend: "{{journal_name}}"}).
			Span(8).Height(8))
}

// selfCheck shows whether what is shown can be believed.
func selfCheck(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Telemetry itself")).
		WithPanel(figure("Failures of telemetry", "Exports that did not arrive, among others, in the time that is shown.", "short",
			query{expr: `sum(increase(quartet_telemetry_errors_total{@}[$__range]))`}, below(colorFine), from(1, colorBad)).Decimals(0).Span(6).Height(4)).
		WithPanel(figure("Series folded away", "Series of instruments that have more than the SDK keeps apart: what they count is one lump.", "short",
			query{expr: `count({@, otel_metric_overflow="true"}) or vector(0)`}, below(colorFine), from(1, colorBad)).Decimals(0).Span(6).Height(4)).
		WithPanel(figure("Series", "What one scrape brings.", "short",
			query{expr: `sum(scrape_samples_scraped{@})`}, below("text")).Span(6).Height(4)).
		WithPanel(figure("Scrape", "How long the slowest scrape takes.", "s",
			query{expr: `max(scrape_duration_seconds{@})`}, below(colorFine), from(1, colorNear)).Span(6).Height(4)).
		WithPanel(curves("Goroutines", "A number that only rises is a leak.", "short",
			query{expr: `go_goroutines{@}`, legend: "{{job}} {{instance}}"}).Span(12).Height(7)).
		WithPanel(curves("Memory", "What the process has of the machine's.", "bytes",
			query{expr: `process_resident_memory_bytes{@}`, legend: "{{job}} {{instance}}"}).Span(12).Height(7))
}
