package live

import (
	"context"
	"slices"

	"quartet/tools/internal/dash"
)

// Queries asks every query of a board, and tells of those that Prometheus does
// not take, that find nothing, or whose exemplars lead nowhere.
func (r *Run) Queries(ctx context.Context, b dash.Board) ([]string, error) {
	var faults []string
	for _, p := range b.Panels {
		for _, t := range p.Targets {
			where := b.UID + ": " + p.Title + " " + t.RefID
			series, err := r.Ask(ctx, t, r.Whole, nil)
			if err != nil {
				faults = append(faults, where+": "+err.Error())
				continue
			}
			if !slices.ContainsFunc(series, func(s Series) bool { return !s.Empty() }) {
				faults = append(faults, where+": finds nothing: "+t.Expr)
			}
			if !t.Exemplar {
				continue
			}
			arrived, err := r.traceArrived(ctx, t)
			if err != nil {
				return nil, err
			}
			if !arrived {
				faults = append(faults, where+": has no exemplar that leads to a trace")
			}
		}
	}
	return faults, ctx.Err()
}
