package board_test

import (
	"strings"
	"testing"
	"time"

	"quartet/cmd/quartet/internal/board"
)

func TestTerminalIsDrawnOverInPlace(t *testing.T) {
	var out strings.Builder
	b := board.Board{Out: &out, Width: func() int { return 8 }}
	at := time.Unix(0, 0)
	b.Show(at, []string{"one", "two"})
	b.Show(at, []string{"żółć is long", "2"})
	want := "one\ntwo\n\x1b[2A\x1b[Jżółć is\n2\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestElsewhereLinesAreAppendedNowAndThen(t *testing.T) {
	var out strings.Builder
	b := board.Board{Out: &out, Every: 10 * time.Second}
	start := time.Unix(0, 0)
	for seconds := range 21 {
		b.Show(start.Add(time.Duration(seconds)*time.Second), []string{string(rune('a' + seconds))})
	}
	if got, want := out.String(), "a\nk\nu\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
