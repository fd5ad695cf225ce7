package commandfile_test

import (
	"fmt"
	"testing"
)

func TestDiffNamesWhatIsDifferent(t *testing.T) {
	const (
		one   = "[[command]]\nname = \"one\"\nhelp = \"h\"\ntext = \"1\"\n"
		two   = "[[command]]\nname = \"two\"\nhelp = \"h\"\ntext = \"2\"\n"
		other = "[[command]]\nname = \"two\"\nhelp = \"h\"\ntext = \"two\"\n"
		three = "[[command]]\nname = \"three\"\nhelp = \"h\"\ntext = \"3\"\n"
	)
	before := parse(t, one+two)
	for _, tt := range []struct{ name, after, want string }{
		{"nothing", one + two, "[]"},
		{"only the place", "\n\n" + one + two, "[]"},
		{"a text", one + other, "[{two changed}]"},
		{"all at once", other + three, "[{two changed} {three added} {one removed}]"},
		{"everything gone", "", "[{one removed} {two removed}]"},
	} {
		commands, schedules := parse(t, tt.after).Diff(before)
		if got := fmt.Sprint(commands); got != tt.want || len(schedules) > 0 {
			t.Errorf("%s: %s and %v, want %s", tt.name, got, schedules, tt.want)
		}
	}
}
