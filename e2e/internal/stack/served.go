package stack

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Served is what botd's log says of one request, at level DEBUG.
type Served struct {
	Command string `json:"command"`
	Timing  struct {
		Own   float64 `json:"own_ms"`
		Store float64 `json:"store_ms"`
	} `json:"timing"`
}

// Served reads all requests out of botd's log. Its histograms begin at a
// quarter of a millisecond; these figures are exact to a microsecond.
func (p *Process) Served() []Served {
	var all []Served
	for line := range bytes.Lines([]byte(p.Log())) {
		if !bytes.Contains(line, []byte(`"served"`)) {
			continue
		}
		var s Served
		if json.Unmarshal(line, &s) == nil && s.Command != "" {
			all = append(all, s)
		}
	}
	return all
}

// Quantile is the value below which a share of all lies; 0 of none.
func Quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(share*float64(len(values))), len(values)-1)]
}
