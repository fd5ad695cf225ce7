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

func TestTrimKeepsTheEndAndTheWriterGoesOn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	writer, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for i := range 200_000 {
		fmt.Fprintln(writer, "line", i)
	}
	if err := proc.Trim(name, 10<<20); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Size() < 2<<20 {
		t.Errorf("a log within its limit was shortened: %v, %v", info.Size(), err)
	}
	if err := proc.Trim(name, 1<<20); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(writer, "after")
	if info, err := os.Stat(name); err != nil || info.Size() > 100<<10 {
		t.Errorf("it still has %d bytes, %v", info.Size(), err)
	}
	got, err := proc.Tail(name, 2)
	if want := []string{"line 199999", "after"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("it ends with %q, %v, want %q", got, err, want)
	}
}
