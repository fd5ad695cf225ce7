// Package dash reads dashboards and the queries in them, and holds them to
// rules: those of Grafana's dashboard linter, and a few of ours.
//
// It knows of a query what the rules need (which metrics, with which matchers,
// under which function); whether it is PromQL at all is for a real Prometheus
// to say, see package live. It does not know whether metrics have data.
package dash

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Board is what we look at of a dashboard.
type Board struct {
	UID      string   `json:"uid"`
	Title    string   `json:"title"`
	Editable bool     `json:"editable"`
	Tags     []string `json:"tags"`
	Panels   []Panel  `json:"panels"`

	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
}

// Variable is a choice at the top of a board.
type Variable struct {
	Name    string `json:"name"`
	Label   string `json:"label"`
	Type    string `json:"type"`
	Refresh int    `json:"refresh"`
	Query   any    `json:"query"`
}

// Panel is one panel, or a row's title.
type Panel struct {
	ID              int       `json:"id"`
	Type            string    `json:"type"`
	Title           string    `json:"title"`
	Description     string    `json:"description"`
	Datasource      *Source   `json:"datasource"`
	Grid            Grid      `json:"gridPos"`
	Targets         []Target  `json:"targets"`
	Fields          Fields    `json:"fieldConfig"`
	Options         Options   `json:"options"`
	Transformations []Convert `json:"transformations"`
}

// Source names where a panel's data come from.
type Source struct {
	UID string `json:"uid"`
}

// Grid is where a panel is, in columns of a 24th and rows of 30 pixels.
type Grid struct{ X, Y, W, H int }

// Target is a query.
type Target struct {
	RefID    string `json:"refId"`
	Expr     string `json:"expr"`
	Legend   string `json:"legendFormat"`
	Format   string `json:"format"`
	Instant  bool   `json:"instant"`
	Exemplar bool   `json:"exemplar"`
}

// Fields says how values are shown.
type Fields struct {
	Defaults struct {
		Unit       string   `json:"unit"`
		Min        *float64 `json:"min"`
		Max        *float64 `json:"max"`
		Decimals   *float64 `json:"decimals"`
		Thresholds struct {
			Steps []Step `json:"steps"`
		} `json:"thresholds"`
		Custom struct {
			Stacking struct {
				Mode string `json:"mode"`
			} `json:"stacking"`
			ThresholdsStyle struct {
				Mode string `json:"mode"`
			} `json:"thresholdsStyle"`
		} `json:"custom"`
	} `json:"defaults"`
	Overrides []struct {
		Matcher struct {
			ID      string `json:"id"`
			Options any    `json:"options"`
		} `json:"matcher"`
		Properties []struct {
			ID    string `json:"id"`
			Value any    `json:"value"`
		} `json:"properties"`
	} `json:"overrides"`
}

// Step is where a colour begins.
type Step struct {
	Value *float64 `json:"value"`
	Color string   `json:"color"`
}

// Options are those of a bar chart and a table.
type Options struct {
	XField string `json:"xField"`
	SortBy []struct {
		Name string `json:"displayName"`
		Desc bool   `json:"desc"`
	} `json:"sortBy"`
}

// Convert is a step that makes columns of answers.
type Convert struct {
	ID      string `json:"id"`
	Options struct {
		Index  map[string]int    `json:"indexByName"`
		Rename map[string]string `json:"renameByName"`
	} `json:"options"`
}

// Read reads a dashboard.
func Read(text []byte) (Board, error) {
	var b Board
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fmt.Errorf("read a dashboard: %w", err)
	}
	return b, nil
}

// IsRow reports whether the panel is only the title of those below it.
func (p Panel) IsRow() bool { return p.Type == "row" }

// Expand puts values in the place of Grafana's variables. The longer names come
// first in values: a variable may begin with another's name.
func Expand(expr string, values ...string) string {
	return strings.NewReplacer(values...).Replace(expr)
}
