// Package board shows a few lines that change: drawn over in place on a
// terminal, appended now and then where the output is a file or a pipe.
//
// It is for one goroutine. It does not care whether its writes succeed: what
// it shows is for looking at.
package board

import (
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// Board is where the lines are shown.
type Board struct {
	Out   io.Writer
	Width func() int    // columns of the terminal; nil when Out is none
	Every time.Duration // how often lines are appended when Out is no terminal

	drawn int       // lines on the screen now
	last  time.Time // when lines were appended last
}

// Show replaces what is on the board. at is the time of the reading.
func (b *Board) Show(at time.Time, lines []string) {
	if b.Width == nil {
		if b.last.IsZero() || at.Sub(b.last) >= b.Every {
			b.last = at
			for _, l := range lines {
				fmt.Fprintln(b.Out, l)
			}
		}
		return
	}
	if b.drawn > 0 {
		fmt.Fprintf(b.Out, "\x1b[%dA\x1b[J", b.drawn)
	}
	width := b.Width()
	for _, l := range lines {
		// A line that wraps would make the count of lines wrong.
		fmt.Fprintln(b.Out, cut(l, width-1))
	}
	b.drawn = len(lines)
}

// cut shortens s to width runes.
func cut(s string, width int) string {
	if width < 1 || utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width])
}
