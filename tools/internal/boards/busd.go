package boards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// busd shows the message bus: what passes, who is on it, and what waits for whom.
func busd() *builder {
	b := base("quartet-busd", "busd",
		"The D-Bus message bus: what passes, who is on it, what waits for whom, and what was refused.")
	passing(b)
	batches(b)
	clients(b)
	unread(b)
	refused(b)
	return b
}

func passing(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("What passes")).
		WithPanel(curves("Messages, per second", "Sent: what clients gave the bus. Delivered: what it gave them, a signal once for each who gets it.", "short",
			query{expr: `sum(rate(quartet_busd_messages_total{@}[$__rate_interval]))`, legend: "sent"},
			query{expr: `sum(rate(quartet_busd_deliveries_total{@}[$__rate_interval]))`, legend: "delivered"}).Span(8).Height(8)).
		WithPanel(curves("Bytes, per second", "The same in bytes, with headers.", "bytes",
			query{expr: `sum(rate(quartet_busd_received_bytes_total{@}[$__rate_interval]))`, legend: "received"},
			query{expr: `sum(rate(quartet_busd_sent_bytes_total{@}[$__rate_interval]))`, legend: "sent"}).Span(8).Height(8)).
		WithPanel(curves("Messages in one system call", "Messages read by one, and delivered by one. The busier the bus, the more: that is what makes it cheap.", "short",
			query{expr: `sum(rate(quartet_busd_messages_total{@}[$__rate_interval])) / sum(rate(quartet_busd_reads_total{@}[$__rate_interval]))`, legend: "reading"},
			query{expr: `sum(rate(quartet_busd_deliveries_total{@}[$__rate_interval])) / sum(rate(quartet_busd_sends_total{@}[$__rate_interval]))`, legend: "sending"}).Span(8).Height(8))
}

func batches(b *builder) {
	const phase = `sum by (phase) (rate(quartet_request_phase_duration_seconds_sum{@, operation="batch"}[$__rate_interval])) / ` +
		`on () group_left () sum(rate(quartet_request_duration_seconds_count{@, operation="batch"}[$__rate_interval]))`
	b.WithRow(dashboard.NewRowBuilder("How long it takes")).
		WithPanel(curves("A batch", "A client's share of a turn, from the kernel's word that something came until it is with the sockets of those who get it.", "s",
			query{expr: `histogram_quantile(0.5, sum by (le) (rate(quartet_request_duration_seconds_bucket{@, operation="batch"}[$__rate_interval])))`, legend: "p50"},
			query{expr: `histogram_quantile(0.99, sum by (le) (rate(quartet_request_duration_seconds_bucket{@, operation="batch"}[$__rate_interval])))`, legend: "p99"}).Span(8).Height(8)).
		WithPanel(stacked("Mean of a batch, by phase", "queue: others' turn. dispatch: cut, checked, judged, matched. compute: the bus's own methods. send: given to the sockets.", "s",
			query{expr: phase, legend: "{{phase}}"}).
			OverrideByName("queue", colored(colorQueue)).
			OverrideByName("dispatch", colored(colorDispatch)).
			OverrideByName("compute", colored(colorCompute)).
			OverrideByName("send", colored(colorSend)).
			Span(8).Height(8)).
		WithPanel(heat("Batches, by time", "How many batches took how long.", "s",
			query{expr: `sum by (le) (increase(quartet_request_duration_seconds_bucket{@, operation="batch"}[$__rate_interval]))`, legend: "{{le}}"}).Span(8).Height(8))
}

func clients(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("Who is on it")).
		WithPanel(curves("Connections", "Incomplete ones have not said Hello; when there are too many, nobody else is accepted.", "short",
			query{expr: `sum(quartet_busd_connections{@})`, legend: "complete"},
			query{expr: `sum(quartet_busd_connections_incomplete{@})`, legend: "incomplete"},
			query{expr: `sum(quartet_busd_monitors{@})`, legend: "monitors"}).Span(8).Height(8)).
		WithPanel(curves("Ended, per minute", "By reason. closed is a client that hung up; what each of the others means is in docs/runbooks.md.", "short",
			query{expr: `60 * sum by (reason) (rate(quartet_busd_connections_ended_total{@}[$__rate_interval]))`, legend: "{{reason}}"}).Span(8).Height(8)).
		WithPanel(curves("Names and rules", "Well-known names with an owner, and match rules. Rules that only grow are a client that forgets to remove them: busd top shows whose.", "short",
			query{expr: `sum(quartet_busd_names{@})`, legend: "names"},
			query{expr: `sum(quartet_busd_rules{@})`, legend: "rules"}).Span(8).Height(8))
}

func unread(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("What waits")).
		WithPanel(curves("Unread", "Bytes that clients have not read. Whose account they are on is in docs/decisions/0009-whose-account-waits.md.", "bytes",
			query{expr: `sum(quartet_busd_waiting_bytes{@})`, legend: "waiting"}).Span(8).Height(8)).
		WithPanel(curves("File descriptors", "Those that wait to be read, and all of messages that are open in the bus.", "short",
			query{expr: `sum(quartet_busd_waiting_fds{@})`, legend: "waiting"},
			query{expr: `sum(quartet_busd_open_fds{@})`, legend: "open"}).Span(8).Height(8)).
		WithPanel(curves("Awaited", "Calls without a reply so far, and services whose name has not come.", "short",
			query{expr: `sum(quartet_busd_pending_replies{@})`, legend: "replies"},
			query{expr: `sum(quartet_busd_activations_pending{@})`, legend: "services"}).Span(8).Height(8))
}

func refused(b *builder) {
	b.WithRow(dashboard.NewRowBuilder("What was refused")).
		WithPanel(curves("Refused, per minute", "Errors that the bus itself answered; those whose reason was the policy; and messages that a limit stopped.", "short",
			query{expr: `60 * sum(rate(quartet_busd_refusals_total{@}[$__rate_interval]))`, legend: "errors"},
			query{expr: `60 * sum(rate(quartet_busd_rejections_total{@}[$__rate_interval]))`, legend: "policy"},
			query{expr: `60 * sum(rate(quartet_busd_over_limit_total{@}[$__rate_interval]))`, legend: "limits"}).Span(8).Height(8)).
		WithPanel(curves("Services started, per minute", "For messages to names that nobody had. failed: the name did not come.", "short",
			query{expr: `60 * sum(rate(quartet_busd_activations_total{@}[$__rate_interval]))`, legend: "started"},
			query{expr: `60 * sum(rate(quartet_busd_activations_failed_total{@}[$__rate_interval]))`, legend: "failed"}).Span(8).Height(8)).
		WithPanel(curves("No descriptor left", "Times that a connection could not be accepted. They wait until another one ends.", "short",
			query{expr: `sum(increase(quartet_busd_shortages_total{@}[$__rate_interval]))`, legend: "times"}).Span(8).Height(8))
}
