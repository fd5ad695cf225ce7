package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quartet/tools/internal/boards"
)

// root is that of the repository.
const root = "../../.."

func TestWhatIsCommittedIsWhatTheCodeMakes(t *testing.T) {
	var out strings.Builder
	if err := check(root, &out); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

// The board asks for a metric that nobody exports: in its JSON alone, since
// what the code makes is checked on its own.
func TestAMetricThatNobodyExportsFailsTheCheck(t *testing.T) {
	dir := copied(t)
	spoil(t, dir, "quartet-botd.json", "quartet_botd_frames_total", "quartet_botd_wishes_total")
	var out strings.Builder
	if err := check(dir, &out); err == nil || !strings.Contains(out.String(), "no service exports quartet_botd_wishes_total") {
		t.Errorf("got %v\n%s", err, &out)
	}
}

// And the other way round: the board is as it was, and the service no longer
// exports what it asks for.
func TestAMetricThatIsExportedNoMoreFailsTheCheck(t *testing.T) {
	dir := copied(t)
	path := filepath.Join(dir, catalogueFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "quartet_botd_frames_total counter\n", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := check(dir, &out); err == nil || !strings.Contains(out.String(), "no service exports quartet_botd_frames_total") {
		t.Errorf("got %v\n%s", err, &out)
	}
}

func TestAFileThatWasChangedByHandFailsTheCheck(t *testing.T) {
	dir := copied(t)
	spoil(t, dir, "quartet-time.json", `"refresh": "30s"`, `"refresh": "5s"`)
	if err := os.WriteFile(filepath.Join(dir, boardsDir, "quartet-mine.json"), first(t), 0o600); err != nil {
		t.Fatal(err)
	}
	faults, err := stale(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(faults, "\n")
	for _, want := range []string{"quartet-time.json: is not what the code makes", "quartet-mine.json: no code makes it"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// copied is a folder with what check reads.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := generate(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, catalogueFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, catalogueFile)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, catalogueFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func spoil(t *testing.T, dir, name, was, becomes string) {
	t.Helper()
	path := filepath.Join(dir, boardsDir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), was, becomes, 1)
	if changed == string(text) {
		t.Fatalf("%s has no %s", name, was)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

func first(t *testing.T) []byte {
	t.Helper()
	files, err := boards.All()
	if err != nil {
		t.Fatal(err)
	}
	return files[0].JSON
}
