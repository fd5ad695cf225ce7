package boards

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// query is one question to Prometheus. In expr, {@} stands for the services and
// instances that were chosen.
type query struct {
	expr, legend string
	exemplars    bool
}

func (q query) promQL() string {
	return strings.ReplaceAll(q.expr, "{@", `{job=~"$job", instance=~"$instance"`)
}

// data is the question as a curve asks it.
func (q query) data(i int) *prometheus.DataqueryBuilder {
	b := ask().RefId(letter(i)).Expr(q.promQL()).LegendFormat(q.legend).Range()
	if q.exemplars {
		b.Exemplar(true)
	}
	return b
}

// now is the question as a number or a table asks it: once, for the whole time
// that is shown.
func (q query) now(i int) *prometheus.DataqueryBuilder {
	return ask().RefId(letter(i)).Expr(q.promQL()).LegendFormat(q.legend).
		Format(prometheus.PromQueryFormatTable).Instant()
}

// ask begins a question. It names its source, although the panel does too: the
// SDK's strict decoder knows by that what a query may have in it.
func ask() *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source())
}

func letter(i int) string { return string(rune('A' + i)) }
