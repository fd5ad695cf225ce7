package boards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// curves is a panel of lines.
func curves(title, description, unit string, queries ...query) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().
		Title(title).
		Description(description).
		Datasource(source()).
		Unit(unit).
		Min(0).
		LineWidth(1.5).
		FillOpacity(8).
		ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().
			ShowLegend(true).
			DisplayMode(common.LegendDisplayModeList).
			Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().
			Mode(common.TooltipDisplayModeMulti).
			Sort(common.SortOrderDescending))
	for i, q := range queries {
		p.WithTarget(q.data(i))
	}
	return p
}

// stacked is a panel of areas that add up.
func stacked(title, description, unit string, queries ...query) *timeseries.PanelBuilder {
	return curves(title, description, unit, queries...).
		FillOpacity(70).
		LineWidth(0).
		Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
}

// figure is one number, with the colours that its steps begin.
func figure(title, description, unit string, q query, steps ...dashboard.Threshold) *stat.PanelBuilder {
	return stat.NewPanelBuilder().
		Title(title).
		Description(description).
		Datasource(source()).
		Unit(unit).
		GraphMode(common.BigValueGraphModeNone).
		ColorMode(common.BigValueColorModeValue).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)).
		WithTarget(ask().RefId("A").Expr(q.promQL()).LegendFormat(q.legend).Instant())
}

// from is a step of colours: from this value on.
func from(value float64, color string) dashboard.Threshold {
	return dashboard.Threshold{Value: &value, Color: color}
}

// base colour of what has not reached a step.
func below(color string) dashboard.Threshold { return dashboard.Threshold{Color: color} }

// heat is a histogram over time.
func heat(title, description, unit string, q query) *heatmap.PanelBuilder {
	return heatmap.NewPanelBuilder().
		Title(title).
		Description(description).
		Datasource(source()).
		Calculate(false).
		YAxis(heatmap.NewYAxisConfigBuilder().Unit(unit)).
		Color(heatmap.NewHeatmapColorOptionsBuilder().
			Mode(heatmap.HeatmapColorModeScheme).
			Scheme("Blues").
			Scale(heatmap.HeatmapColorScaleExponential).
			Exponent(0.5).
			Steps(64)).
		Unit(unit).
		CellGap(1).
		WithTarget(ask().RefId("A").Expr(q.promQL()).LegendFormat(q.legend).
			Format(prometheus.PromQueryFormatHeatmap).Range().Exemplar(q.exemplars))
}

// colored gives a series its colour: the same thing has the same one everywhere.
func colored(color string) []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{{Id: "color", Value: map[string]string{"mode": "fixed", "fixedColor": color}}}
}

// unit gives a column of a table its unit.
func unit(name string) []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{{Id: "unit", Value: name}}
}
