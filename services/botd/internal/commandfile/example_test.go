package commandfile_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"quartet/services/botd/internal/commandfile"
)

var update = flag.Bool("update", false, "rewrite testdata/example.golden")

const examplePath = "../../docs/commands.example.toml"

// The example of the documentation is a file that is taken, and means this.
func TestExampleIsTaken(t *testing.T) {
	data, err := os.ReadFile(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, string(data))
	got, err := json.MarshalIndent(shown(f), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/example.golden"
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != string(got)+"\n" {
		t.Errorf("the example is read as below (%v); run this test with -update and read the difference\n%s", err, got)
	}
}

// Every piece of TOML in the documentation is a file that is taken.
func TestPageHasFilesThatAreTaken(t *testing.T) {
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	pieces := strings.Split(string(page), "```toml\n")[1:]
	for _, piece := range pieces {
		source, _, _ := strings.Cut(piece, "```")
		if _, err := commandfile.Parse([]byte(source)); err != nil {
			t.Errorf("%v in:\n%s", err, source)
		}
	}
	if len(pieces) < 4 {
		t.Errorf("%d pieces", len(pieces))
	}
}

// shown is a file with its plans as text.
func shown(f *commandfile.File) any {
	type schedule struct {
		commandfile.Schedule
		Plan string
	}
	var schedules []schedule
	for _, s := range f.Schedules {
		schedules = append(schedules, schedule{s, s.Plan.String()})
	}
	return map[string]any{"commands": f.Commands, "schedules": schedules}
}
