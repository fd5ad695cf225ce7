package asked_test

import (
	"math/rand/v2"
	"testing"
	"unicode/utf16"

	"quartet/services/botd/internal/asked"
)

// randomText returns a text with characters of one to four bytes, one and two
// units, and sometimes a byte that is no UTF-8.
func randomText(r *rand.Rand) string {
	pieces := []string{"a", "ż", "\ufffc", "😀", "👨‍👩‍👧", "\u0301", "\uffff", "𐀀", "\U0010ffff", "\xff", "\xf0\x9f", " "}
	var s string
	for range r.IntN(20) {
		s += pieces[r.IntN(len(pieces))]
	}
	return s
}

func TestSpansSurviveTheWayToBytesAndBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		text := randomText(r)
		borders := []int{}
		for i := range text {
			borders = append(borders, i)
		}
		borders = append(borders, len(text))
		a, b := borders[r.IntN(len(borders))], borders[r.IntN(len(borders))]
		from, to := min(a, b), max(a, b)

		start, length, ok := asked.Units(text, from, to)
		if !ok {
			t.Fatalf("Units(%q, %d, %d) failed", text, from, to)
		}
		// The standard library counts the same.
		if want := len(utf16.Encode([]rune(text[:from]))); start != want {
			t.Fatalf("Units(%q, %d, %d) starts at %d, want %d", text, from, to, start, want)
		}
		if want := len(utf16.Encode([]rune(text[from:to]))); length != want {
			t.Fatalf("Units(%q, %d, %d) is %d long, want %d", text, from, to, length, want)
		}
		if f, e, ok := asked.Bytes(text, start, length); !ok || f != from || e != to {
			t.Fatalf("Bytes(%q, %d, %d) = %d, %d, %t; want %d, %d", text, start, length, f, e, ok, from, to)
		}
	}
}

func TestBytesTakesExactlyTheSoundSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		text := randomText(r)
		units := utf16.Encode([]rune(text))
		for range 20 {
			start, length := r.IntN(len(units)+4)-2, r.IntN(len(units)+4)-2
			from, to, ok := asked.Bytes(text, start, length)
			want := start >= 0 && length >= 0 && start+length <= len(units) && whole(units, start) && whole(units, start+length)
			if ok != want {
				t.Fatalf("Bytes(%q, %d, %d) = %t, want %t", text, start, length, ok, want)
			}
			if ok && string([]rune(text[from:to])) != string(utf16.Decode(units[start:start+length])) {
				t.Fatalf("Bytes(%q, %d, %d) is %q", text, start, length, text[from:to])
			}
		}
	}
}

// whole reports whether i is not between the two halves of a surrogate pair.
func whole(units []uint16, i int) bool {
	return i == 0 || i == len(units) || !(units[i-1] >= 0xD800 && units[i-1] < 0xDC00 && units[i] >= 0xDC00 && units[i] < 0xE000)
}

func TestUnitsRefusesOffsetsThatCutCharacters(t *testing.T) {
	const text = "aż😀"
	for _, span := range [][2]int{{-1, 1}, {0, 8}, {2, 1}, {2, 3}, {1, 2}, {1, 4}, {3, 6}} {
		if start, length, ok := asked.Units(text, span[0], span[1]); ok {
			t.Errorf("Units(%q, %v) = %d, %d", text, span, start, length)
		}
	}
}

func FuzzSpans(f *testing.F) {
	f.Add("a😀\ufffc", 1, 2)
	f.Add("", -1, 1<<62)
	f.Add("\xff😀", 1<<62, 1<<62)
	f.Fuzz(func(t *testing.T, text string, start, length int) {
		from, to, ok := asked.Bytes(text, start, length)
		if !ok {
			return
		}
		if s, l, ok := asked.Units(text, from, to); !ok || s != start || l != length {
			t.Errorf("%q: %d+%d became bytes %d to %d and then %d+%d, %t", text, start, length, from, to, s, l, ok)
		}
	})
}
