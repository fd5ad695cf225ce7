package sheet

import (
	"image"
	"math"

	"quartet/tools/internal/dash"
)

// number draws one figure, in the colour of the step that it has reached.
func (cv *canvas) number(r image.Rectangle, p dash.Panel, answers []answer) {
	words, c := "no data", faint
	if len(answers) > 0 && len(answers[0].series) > 0 {
		points := answers[0].series[0].Points
		v := points[len(points)-1].Value
		if d := p.Fields.Defaults.Decimals; d != nil && *d == 0 {
			v = math.Round(v)
		}
		words, c = show(v, p.Fields.Defaults.Unit), ink
		for _, s := range p.Fields.Defaults.Thresholds.Steps {
			if s.Value == nil || v >= *s.Value {
				c = hex(s.Color)
			}
		}
	}
	cv.text(r.Min.X+(r.Dx()-cv.measure(large, words))/2, r.Min.Y+r.Dy()/2+14, large, c, words)
}
