package boards

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheSchemaTakesEveryBoard(t *testing.T) {
	for _, f := range all(t) {
		if _, err := Decode(f.JSON); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func TestTheSameCodeGivesTheSameBytes(t *testing.T) {
	first, second := all(t), all(t)
	for i := range first {
		if !bytes.Equal(first[i].JSON, second[i].JSON) {
			t.Errorf("%s differs from run to run", first[i].Name)
		}
	}
}

// What Grafana would silently ignore is refused wherever it stands.
func TestUnknownFieldsAreRefused(t *testing.T) {
	cases := map[string][2]string{
		"of the board":   {`"editable": false`, `"editable": false, "bogus": 1`},
		"of a panel":     {`"gridPos": {`, `"bogus": 1, "gridPos": {`},
		"of the options": {`"xField": "operation"`, `"xField": "operation", "bogus": 1`},
		"of the fields":  {`"lineWidth": 1.5`, `"lineWidth": 1.5, "bogus": 1`},
		"of a query":     {`"legendFormat": "p50"`, `"legendFormat": "p50", "bogus": 1`},
		"of a variable":  {`"includeAll": true`, `"includeAll": true, "bogus": 1`},
	}
	board := string(all(t)[0].JSON)
	for where, c := range cases {
		text := strings.Replace(board, c[0], c[1], 1)
		if text == board {
			t.Errorf("%s: there is no %s in the board", where, c[0])
		}
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), "bogus") {
			t.Errorf("%s: got %v", where, err)
		}
	}
}

// The SDK takes whatever stands in a panel whose type it was not told of.
func TestPanelsWithoutSchemaAreRefused(t *testing.T) {
	text := strings.Replace(string(all(t)[0].JSON), `"type": "stat"`, `"type": "gauge"`, 1)
	if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), `of type "gauge"`) {
		t.Errorf("got %v", err)
	}
}

func TestQueriesOfUnknownSourcesAreRefused(t *testing.T) {
	text := strings.Replace(string(all(t)[0].JSON), `"type": "prometheus",
            "uid": "${datasource}"`, `"type": "other",
            "uid": "${datasource}"`, 1)
	if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), "not checked") {
		t.Errorf("got %v", err)
	}
}

func all(t *testing.T) []File {
	t.Helper()
	files, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 3 {
		t.Fatalf("%d boards", len(files))
	}
	return files
}
