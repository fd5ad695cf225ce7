package boards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// botd shows the Signal bot: what it reads, what it answers, what it does not.
func botd() *builder {
	b := base("quartet-botd", "botd",
		"The Signal group bot: what it reads, what it answers, and what it does not.",
		choice("operation", "Command", `label_values(quartet_request_duration_seconds_count{job=~"$job"}, operation)`))
	commands(b)
	frames(b)
	answers(b)
	waiting(b)
	return b
}

func commands(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Commands")).
		WithPanel(curves("Commands, per minute", "By command, however they ended.", "short",
			query{expr: `60 * sum by (operation) (rate(quartet_request_duration_seconds_count{@, operation=~"$operation"}[$__rate_interval]))`, legend: "{{operation}}"}).
			Span(6).Height(8)).
		WithPanel(curves("Not answered as asked, per minute", "By outcome: rejected is a cooldown or a rule of ours, the others are failures.", "short",
			query{expr: `60 * sum by (outcome) (rate(quartet_request_duration_seconds_count{@, operation=~"$operation", outcome!="ok"}[$__rate_interval]))`, legend: "{{outcome}}"}).
			Span(6).Height(8)).
		WithPanel(curves("Wait for an answer, p95", "From the reading of the frame until Signal had the answer.", "s",
			query{expr: `histogram_quantile(0.95, sum by (operation, le) (rate(quartet_request_duration_seconds_bucket{@, operation=~"$operation", outcome="ok"}[$__rate_interval])))`, legend: "{{operation}}"}).
			Span(6).Height(8)).
		WithPanel(curves("Own time, p95", "The bot's own share of it. The budget is 100 ms.", "s",
			query{expr: `histogram_quantile(0.95, sum by (operation, le) (rate(quartet_request_own_duration_seconds_bucket{@, operation=~"$operation"}[$__rate_interval])))`, legend: "{{operation}}"}).
			Span(6).Height(8))
}

func frames(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Frames from Signal")).
		WithPanel(curves("Frames read, per minute", "By kind. Most are no business of the bot's.", "short",
			query{expr: `60 * sum by (kind) (rate(quartet_botd_frames_total{@}[$__rate_interval]))`, legend: "{{kind}}"}).Span(8).Height(8)).
		WithPanel(curves("Dropped, per minute", "Frames that could have been for the bot and got no answer, by reason. Each reason is explained in docs/runbooks.md.", "short",
			query{expr: `60 * sum by (reason) (rate(quartet_botd_dropped_total{@}[$__rate_interval])) > 0`, legend: "{{reason}}"}).Span(8).Height(8)).
		WithPanel(curves("Time without a connection", "Seconds of each minute in which frames may have been lost unseen.", "s",
			query{expr: `60 * sum(rate(quartet_botd_receive_gap_seconds_total{@}[$__rate_interval]))`, legend: "gap"}).Span(8).Height(8))
}

func answers(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Answers")).
		WithPanel(curves("Send beside upstream, mean", "Signal's part of an answer, and that of the public APIs.", "s",
			query{expr: `sum by (phase) (rate(quartet_request_phase_duration_seconds_sum{@, operation=~"$operation", phase=~"send|upstream"}[$__rate_interval])) / ` +
				`sum by (phase) (rate(quartet_request_phase_duration_seconds_count{@, operation=~"$operation", phase=~"send|upstream"}[$__rate_interval]))`, legend: "{{phase}}"}).
			OverrideByName("send", colored(colorSend)).
			OverrideByName("upstream", colored(colorUpstream)).
			Span(8).Height(8)).
		WithPanel(curves("Refused by Signal, per minute", "By class. What each means and what to do is in docs/runbooks.md.", "short",
			query{expr: `60 * sum by (class) (rate(quartet_botd_send_refusals_total{@}[$__rate_interval]))`, legend: "{{class}}"}).Span(8).Height(8)).
		WithPanel(curves("Outcome unknown", "Answers of which nobody knows whether they arrived; they are not sent again. Settled: a receipt showed later that they had.", "short",
			query{expr: `sum(quartet_botd_send_unknown_total{@})`, legend: "unknown"},
			query{expr: `sum(quartet_botd_send_settled_total{@})`, legend: "settled"}).Span(8).Height(8))
}

func waiting(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("What waits")).
		WithPanel(curves("Handled at once", "Slots in use, and how many there are (BOTD_LIMIT).", "short",
			query{expr: `quartet_budget_usage{@, budget_name="botd.slots"}`, legend: "in use"},
			query{expr: `quartet_budget_limit{@, budget_name="botd.slots"}`, legend: "limit"}).Span(6).Height(8)).
		WithPanel(curves("Backlog", "What waits in memory (BOTD_BACKLOG_BYTES), and what is in the spill on disk behind it (BOTD_SPILL_BYTES).", "bytes",
			query{expr: `quartet_budget_usage{@, budget_name="botd.backlog"}`, legend: "in memory"},
			query{expr: `quartet_journal_usage_bytes{@, journal_name="botd.spill"}`, legend: "on disk"}).Span(6).Height(8)).
		WithPanel(curves("Wait for one's turn, p95", "Behind an earlier command of the same person, or an earlier answer in the same chat.", "s",
			query{expr: `histogram_quantile(0.95, sum by (lock_name, le) (rate(quartet_lock_wait_duration_seconds_bucket{@}[$__rate_interval])))`, legend: "{{lock_name}}"}).
			Span(6).Height(8)).
		WithPanel(curves("Ledger: a write, p95", "Every message is in the ledger before anything is done about it.", "s",
			query{expr: `histogram_quantile(0.95, sum by (journal_name, le) (rate(quartet_journal_write_duration_seconds_bucket{@, journal_name="botd.store"}[$__rate_interval])))`, legend: "write"},
			query{expr: `histogram_quantile(0.95, sum by (journal_name, le) (rate(quartet_journal_sync_duration_seconds_bucket{@, journal_name="botd.store"}[$__rate_interval])))`, legend: "sync"}).
			Span(6).Height(8))
}
