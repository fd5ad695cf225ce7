//lint:file-ignore SA1019 The SDK would rather have dashboardv2; but files are
// provisioned in the classic schema, which every Grafana in use takes.

package boards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// The classic schema of dashboards.
type (
	builder = dashboard.DashboardBuilder
	board   = dashboard.Dashboard
)

func newBuilder(title string) *builder { return dashboard.NewDashboardBuilder(title) }
