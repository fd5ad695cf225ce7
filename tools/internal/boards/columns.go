package boards

import (
	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// bars is a panel of horizontal bars that add up, one for each value of a label.
// Each query is a part, named by its legend.
func bars(title, description, unit, label string, queries ...query) *barchart.PanelBuilder {
	p := barchart.NewPanelBuilder().
		Title(title).
		Description(description).
		Datasource(source()).
		Unit(unit).
		Orientation(common.VizOrientationHorizontal).
		Stacking(common.StackingModeNormal).
		ShowValue(common.VisibilityModeAuto).
		XField(label).
		Legend(common.NewVizLegendOptionsBuilder().
			ShowLegend(true).
			DisplayMode(common.LegendDisplayModeList).
			Placement(common.LegendPlacementBottom)).
		WithTransformation(together()).
		WithTransformation(columns([]string{label}, queries))
	for i, q := range queries {
		p.WithTarget(q.now(i))
	}
	return p
}

// rows is a table with a line for each set of labels and a column for each
// query, named by its legend.
func rows(title, description string, labels []string, queries ...query) *table.PanelBuilder {
	p := table.NewPanelBuilder().
		Title(title).
		Description(description).
		Datasource(source()).
		Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{"sum"})). // the schema wants a reducer even so
		WithTransformation(together()).
		WithTransformation(columns(labels, queries))
	for i, q := range queries {
		p.WithTarget(q.now(i))
	}
	return p
}

// together makes one table of the answers to several questions, by what labels
// they share.
func together() dashboard.DataTransformerConfig {
	return dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}
}

// columns names and orders what came of it.
func columns(labels []string, queries []query) dashboard.DataTransformerConfig {
	order, names := map[string]int{}, map[string]string{}
	for i, l := range labels {
		order[l] = i
	}
	for i, q := range queries {
		column := "Value #" + letter(i)
		if len(queries) == 1 {
			column = "Value"
		}
		order[column], names[column] = len(labels)+i, q.legend
	}
	return dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"excludeByName": map[string]bool{"Time": true},
		"indexByName":   order,
		"renameByName":  names,
	}}
}
