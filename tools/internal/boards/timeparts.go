package boards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// percentiles shows three percentiles of a histogram, with traces where there
// are some. Side by side they tell whose slow requests the slow requests are.
func percentiles(title, description, buckets string) *timeseries.PanelBuilder {
	at := func(q, name string) query {
		return query{expr: `histogram_quantile(` + q + `, sum by (le) (rate(` + buckets + `[$__rate_interval])))`, legend: name, exemplars: q == "0.99"}
	}
	return curves(title+": p50, p95, p99", description, "s", at("0.5", "p50"), at("0.95", "p95"), at("0.99", "p99"))
}

func dashedLine() *common.GraphThresholdsStyleConfigBuilder {
	return common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed)
}

func inPhaseColors(p *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	return p.
		OverrideByName("queue", colored(colorQueue)).
		OverrideByName("dispatch", colored(colorDispatch)).
		OverrideByName("compute", colored(colorCompute)).
		OverrideByName("store", colored(colorStore)).
		OverrideByName("upstream", colored(colorUpstream)).
		OverrideByName("send", colored(colorSend))
}

// peers lists those who were asked, the slowest calls first.
func peers() *table.PanelBuilder {
	const (
		by    = `sum by (job, service_peer_name, operation) (`
		peers = `{@, service_peer_name=~"$peer"`
	)
	calls := by + `rate(quartet_upstream_call_duration_seconds_count` + peers + `}[$__range]))`
	share := func(matchers string) string {
		return `(` + by + `rate(quartet_upstream_call_duration_seconds_count` + peers + matchers + `}[$__range])) or 0 * ` + calls + `) / ` + calls + ` >= 0`
	}
	quantile := func(q string) string {
		return `histogram_quantile(` + q + `, sum by (job, service_peer_name, operation, le) (rate(quartet_upstream_call_duration_seconds_bucket` + peers + `}[$__range]))) >= 0`
	}
	return rows("Peers: who was asked, and how long an answer took",
		"Every call to somebody else, until its answer had been read. New connections cost a handshake; many of them mean that somebody closes ours.",
		[]string{"job", "service_peer_name", "operation"},
		query{expr: `60 * ` + calls + ` > 0`, legend: "calls/min"},
		query{expr: quantile("0.5"), legend: "p50"},
		query{expr: quantile("0.95"), legend: "p95"},
		query{expr: quantile("0.99"), legend: "p99"},
		query{expr: share(`, outcome!~"ok|canceled"`), legend: "failed"},
		query{expr: share(`, connection_reused="false"`), legend: "new connections"}).
		OverrideByName("calls/min", unit("short")).
		OverrideByRegexp("^p[0-9]+$", unit("s")).
		OverrideByName("failed", unit("percentunit")).
		OverrideByName("new connections", unit("percentunit")).
		SortBy(byColumn("p95"))
}

func byColumn(name string) []cog.Builder[common.TableSortByFieldState] {
	return []cog.Builder[common.TableSortByFieldState]{common.NewTableSortByFieldStateBuilder().DisplayName(name).Desc(true)}
}
