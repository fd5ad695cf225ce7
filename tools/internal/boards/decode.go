package boards

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Decode reads a dashboard and refuses what the schema does not know, in panels
// and queries too.
func Decode(text []byte) (board, error) {
	register()
	var d board
	err := new(board).UnmarshalJSONStrict(text)
	// The SDK returns its list of faults in the error interface even when the
	// list is empty: err is never nil. It falls for that itself, and leaves out
	// panels without fault; so what is looked at below is decoded once more.
	var faults cog.BuildErrors
	if errors.As(err, &faults) && len(faults) == 0 {
		err = nil
	}
	if err != nil {
		return d, fmt.Errorf("not what Grafana's schema says: %w", err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, err
	}
	for i, p := range d.Panels {
		if p.Panel == nil {
			continue
		}
		if !known(p.Panel.Type) {
			return d, fmt.Errorf("panel %d: of type %q, whose schema is not checked here", i, p.Panel.Type)
		}
		for _, q := range p.Panel.Targets {
			if !checked(q) {
				return d, fmt.Errorf("panel %d: has a query whose own datasource is not of type prometheus, and was not checked", i)
			}
		}
	}
	return d, nil
}

// checked reports whether the SDK knew what a query may have in it: it goes by
// the query's own datasource.
func checked(q variants.Dataquery) bool {
	p, ok := q.(*prometheus.Dataquery)
	return ok && p.Datasource != nil && p.Datasource.Type != nil && *p.Datasource.Type == prometheus.VariantConfig().Identifier
}

// kinds are the panels that we use. The SDK passes options of a type that was
// not registered unread, so there is no other.
func kinds() []variants.PanelcfgConfig {
	return []variants.PanelcfgConfig{barchart.VariantConfig(), heatmap.VariantConfig(), stat.VariantConfig(), table.VariantConfig(), timeseries.VariantConfig()}
}

func known(kind string) bool {
	for _, k := range kinds() {
		if k.Identifier == kind {
			return true
		}
	}
	return false
}

// register tells the SDK, which has one table for the whole program, what the
// options of our panels and our queries look like. To do it again is harmless.
func register() {
	table := cog.NewRuntime()
	for _, k := range kinds() {
		table.RegisterPanelcfgVariant(k)
	}
	table.RegisterDataqueryVariant(prometheus.VariantConfig())
}
