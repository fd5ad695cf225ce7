// Package sheet draws a dashboard with the answers to its queries as one
// picture, for people to look at where there is no Grafana.
//
// It draws what our boards use: numbers, curves, stacked areas, bars, heat maps
// and tables, where the grid puts them and in the colours that they are given.
// It says on the picture that it is not Grafana.
package sheet

import (
	"context"
	"fmt"
	"image"
	"strings"

	"quartet/tools/internal/dash"
	"quartet/tools/internal/live"
)

// The grid, in pixels.
const (
	width  = 1500
	rowPx  = 32
	margin = 10 // around the whole
	gap    = 8  // between panels
	header = 64
)

// Asker answers a panel's queries.
type Asker interface {
	Ask(ctx context.Context, t dash.Target, w live.Window, c live.Choice) ([]live.Series, error)
}

// Draw asks what a board asks and writes the picture to a file.
func Draw(ctx context.Context, path string, b dash.Board, a Asker, w live.Window, c live.Choice) error {
	bottom := 0
	for _, p := range b.Panels {
		bottom = max(bottom, p.Grid.Y+p.Grid.H)
	}
	cv, err := newCanvas(width, header+bottom*rowPx+margin)
	if err != nil {
		return err
	}
	cv.head(b, w, c)
	for _, p := range b.Panels {
		if p.IsRow() {
			r := place(p.Grid)
			cv.text(r.Min.X+2, r.Max.Y-8, title, ink, p.Title)
			continue
		}
		answers, err := ask(ctx, p, a, w, c)
		if err != nil {
			return fmt.Errorf("draw %s: %w", p.Title, err)
		}
		cv.panel(place(p.Grid), p, answers, w)
	}
	return cv.write(path)
}

// answer is what one query of a panel found.
type answer struct {
	query  dash.Target
	series []live.Series
}

func ask(ctx context.Context, p dash.Panel, a Asker, w live.Window, c live.Choice) ([]answer, error) {
	var all []answer
	for _, t := range p.Targets {
		series, err := a.Ask(ctx, t, w, c)
		if err != nil {
			return nil, err
		}
		all = append(all, answer{t, series})
	}
	return all, nil
}

// place is where a panel lies on the picture.
func place(g dash.Grid) image.Rectangle {
	column := func(x int) int { return margin + x*(width-2*margin)/24 }
	return image.Rect(column(g.X), header+g.Y*rowPx, column(g.X+g.W)-gap, header+(g.Y+g.H)*rowPx-gap)
}

func (cv *canvas) head(b dash.Board, w live.Window, c live.Choice) {
	cv.text(margin+2, 30, heading, ink, b.Title)
	var parts []string
	for _, v := range b.Templating.List {
		if v.Type != "query" {
			continue
		}
		value := c[v.Name]
		if value == "" {
			value = "All"
		}
		parts = append(parts, v.Label+": "+value)
	}
	cv.text(margin+2, 52, label, faint, strings.Join(parts, "     "))
	note := "rendered by quartet's dashboards tool, not Grafana"
	cv.text(width-margin-gap-cv.measure(label, note), 30, label, faint, note)
	span := fmt.Sprintf("%s, %d s of the simulated system", w.From.UTC().Format("2006-01-02 15:04:05 UTC"), int(w.To.Sub(w.From).Seconds()))
	cv.text(width-margin-gap-cv.measure(label, span), 52, label, faint, span)
}

// panel draws the frame, the title, and what is in it.
func (cv *canvas) panel(r image.Rectangle, p dash.Panel, answers []answer, w live.Window) {
	cv.fill(r, paper)
	cv.frame(r, edge)
	cv.text(r.Min.X+10, r.Min.Y+20, title, ink, cv.fit(title, p.Title, r.Dx()-20))
	inner := image.Rect(r.Min.X+10, r.Min.Y+30, r.Max.X-10, r.Max.Y-8)
	switch p.Type {
	case "stat":
		cv.number(inner, p, answers)
	case "timeseries":
		cv.curves(inner, p, answers, w)
	case "barchart":
		cv.bars(inner, p, answers)
	case "heatmap":
		cv.heat(inner, p, answers, w)
	case "table":
		cv.table(inner, p, answers)
	}
}
