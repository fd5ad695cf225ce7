package proc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quartet/cmd/quartet/internal/proc"
)

func TestTail(t *testing.T) {
	var long strings.Builder
	for i := range 20_000 {
		fmt.Fprintln(&long, "line", i)
	}
	cases := []struct {
		name, text string
		n          int
		want       []string
	}{
		{"empty", "", 3, nil},
		{"fewer than asked", "a\nb\n", 3, []string{"a", "b"}},
		{"no newline at the end", "a\nb", 1, []string{"b"}},
		{"longer than what is read", long.String(), 2, []string{"line 19998", "line 19999"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := proc.Tail(name, c.n)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}
