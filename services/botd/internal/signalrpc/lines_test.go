package signalrpc_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"quartet/services/botd/internal/signalrpc"
)

// pieces reads a stream in pieces of n bytes.
type pieces struct {
	from io.Reader
	n    int
}

func (p pieces) Read(b []byte) (int, error) { return p.from.Read(b[:min(p.n, len(b))]) }

// FuzzLines holds the reader to strings.Split, however the stream is cut into
// pieces.
func FuzzLines(f *testing.F) {
	f.Add("a\nbb\n\nccc\n", 3, 1)
	f.Add("abcd\nab\nabcdefgh", 3, 2)
	f.Add("\n\n", 1, 100)
	f.Add(strings.Repeat("x", 70<<10)+"\ny\n"+strings.Repeat("z", 200<<10)+"\n", 100<<10, 9999)
	f.Fuzz(func(t *testing.T, stream string, longest, piece int) {
		longest, piece = max(1, longest), max(1, piece)
		var got []string
		err := signalrpc.Lines(pieces{strings.NewReader(stream), piece}, longest, func(line string, tooLong int64) {
			if tooLong > 0 {
				line = fmt.Sprint("too long: ", tooLong)
			}
			got = append(got, line)
		})
		all := strings.Split(stream, "\n")
		rest := all[len(all)-1]
		want := all[:len(all)-1]
		for i, line := range want {
			if len(line) > longest {
				want[i] = fmt.Sprint("too long: ", len(line))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if rest == "" && err != io.EOF || rest != "" && err != io.ErrUnexpectedEOF {
			t.Errorf("ended by %v with %q left", err, rest)
		}
	})
}

func TestAnErrorOfTheStreamIsTold(t *testing.T) {
	broken := errors.New("broken")
	var got []string
	err := signalrpc.Lines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 10, func(line string, _ int64) {
		got = append(got, line)
	})
	if !errors.Is(err, broken) || !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q, %v", got, err)
	}
}
