// Package boards holds the Grafana dashboards as Go code, and turns them into
// the JSON that is committed under deploy/grafana/dashboards.
//
// The same code gives the same bytes. Decode reads such a file and refuses every
// field that Grafana's schema, as the SDK of this module has it, does not know.
// Whether a query finds anything is not known here: see package live.
package boards

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// File is a dashboard as it is committed.
type File struct {
	Name string // with .json
	JSON []byte
}

// All makes every dashboard.
func All() ([]File, error) {
	var files []File
	for _, b := range []*builder{whereTheTimeGoes(), backPressure(), botd(), busd()} {
		d, err := b.Build()
		if err != nil {
			return nil, fmt.Errorf("build a dashboard: %w", err)
		}
		number(&d)
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", *d.Uid, err)
		}
		files = append(files, File{Name: *d.Uid + ".json", JSON: append(bytes.TrimSpace(text), '\n')})
	}
	return files, nil
}

// number gives every panel its id, and every query its letter.
func number(d *board) {
	for i, p := range d.Panels {
		id := uint32(i + 1)
		if p.RowPanel != nil {
			p.RowPanel.Id = id
			continue
		}
		p.Panel.Id = &id
	}
}

// base is what all dashboards have in common: the source of the data, the
// services to look at, and the way to the others.
func base(uid, title, description string, variables ...cog.Builder[dashboard.VariableModel]) *builder {
	b := newBuilder(title).
		Uid(uid).
		Description(description).
		Tags([]string{"quartet"}).
		Timezone("browser").
		Time("now-1h", "now").
		Refresh("30s").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Readonly().
		Link(dashboard.NewDashboardLinkBuilder("Quartet").
			Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{"quartet"}).
			IncludeVars(true).
			KeepTime(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").
			Label("Data Source").
			Type("prometheus")).
		WithVariable(choice("job", "Service", `label_values(quartet_request_duration_seconds_count, job)`)).
		WithVariable(choice("instance", "Instance", `label_values(quartet_request_duration_seconds_count{job=~"$job"}, instance)`))
	for _, v := range variables {
		b.WithVariable(v)
	}
	return b
}

// choice is a variable that offers what a query finds, and all of it at first.
func choice(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Query(dashboard.StringOrMap{String: &query}).
		Definition(query).
		Datasource(source()).
		Multi(true).
		IncludeAll(true).
		AllValue(".+").
		Current(everything()).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc)
}

func everything() dashboard.VariableOption {
	yes, all, value := true, "All", "$__all"
	return dashboard.VariableOption{Selected: &yes, Text: dashboard.StringOrArrayOfString{String: &all}, Value: dashboard.StringOrArrayOfString{String: &value}}
}

func source() common.DataSourceRef {
	kind, uid := "prometheus", "${datasource}"
	return common.DataSourceRef{Type: &kind, Uid: &uid}
}
