package pages_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"quartet/services/botd/internal/pages"
)

func TestLongTextsAreCutAtBorders(t *testing.T) {
	const family = "👨‍👩‍👧" // 18 bytes, one character
	tests := []struct {
		name  string
		text  string
		limit int
		want  []string
	}{
		{"a short text stays as it is", " a\n\nb ", 20, []string{" a\n\nb "}},
		{"a text of exactly the limit is one part", "aaaa bbbb", 9, []string{"aaaa bbbb"}},
		{"a blank text has no parts", " \n\t\u00a0", 20, nil},
		{"lines come before spaces", "aaa bbb\nccc ddd", 13, []string{"aaa bbb", "ccc ddd"}},
		{"a line border counts only in a part half full", "a\nbbb ccc ddd", 10, []string{"a\nbbb ccc", "ddd"}},
		{"all empty lines at a cut go", "aaaa\r\n\r\n\nbbbb", 6, []string{"aaaa", "bbbb"}},
		{"the next line keeps its indentation", "aaaa\n  bbb", 6, []string{"aaaa", "  bbb"}},
		{"all spaces at a cut go", "aaaa    bbbb", 6, []string{"aaaa", "bbbb"}},
		{"spaces at the end do not make a part", "aaaa" + strings.Repeat(" ", 50), 6, []string{"aaaa"}},
		{"spaces at the beginning do not make a part", strings.Repeat(" ", 50) + "aaaa", 10, []string{"aaaa"}},
		{"a word longer than a part is cut", "aaaabbbbcc", 4, []string{"aaaa", "bbbb", "cc"}},
		{"such a word begins a part", "x aaaabbbb", 4, []string{"x", "aaaa", "bbbb"}},
		{"a no-break space holds together", "aa b\u00a0c", 5, []string{"aa", "b\u00a0c"}},
		{"an emoji stays whole", family + family, 20, []string{family, family}},
		{"a flag stays whole", "🇵🇱🇵🇱", 12, []string{"🇵🇱", "🇵🇱"}},
		{"a letter keeps its marks", "ao\u0301o\u0301", 5, []string{"ao\u0301", "o\u0301"}},
		{"a space with a mark on it is a character", "aaaa \u0301bb", 6, []string{"aaaa", " \u0301bb"}},
		{"a character longer than a part is cut between code points", "e" + strings.Repeat("\u0301", 4), 4, []string{"e\u0301", "\u0301\u0301", "\u0301"}},
		{"what is not UTF-8 becomes a mark of that", "a\xffb", 9, []string{"a\ufffdb"}},
		{"the smallest limit holds one code point", "ż😀", 1, []string{"ż", "😀"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := pages.Split(tt.text, tt.limit); !slices.Equal(got, tt.want) {
				t.Errorf("Split(%q, %d) = %q, want %q", tt.text, tt.limit, got, tt.want)
			}
		})
	}
}

func TestShortenedTextsEndWithAnEllipsis(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		want  string
	}{
		{"kot", 3, "kot"},
		{"koty", 3, "…"},
		{"kot rudy", 7, "kot…"}, // not "kot …"
		{"kot rudy", 8, "kot rudy"},
		{"🇵🇱🇵🇱", 12, "🇵🇱…"},
		{"kot rudy", 2, ""},
		{"kot rudy", -1, ""},
		{"\xff", 2, ""},
	}
	for _, tt := range tests {
		if got := pages.Shorten(tt.text, tt.limit); got != tt.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}

// pieces are what random texts are made of: the borders and characters that
// are easy to get wrong.
var pieces = []string{
	"a", "kot", "ż", "z\u0307", "\u0301", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2028", "\u200d", "😀", "👍🏽",
	"👨‍👩‍👧", "🇵🇱", "🇵", "각", "\u1100\u1161", "\u200f", "नि", "\xff", "dłuuuuugie",
}

func TestSplitHoldsForRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var text strings.Builder
		for range r.IntN(60) {
			text.WriteString(pieces[r.IntN(len(pieces))])
		}
		checkSplit(t, text.String(), 1+r.IntN(60))
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("aaa bbb\nccc ddd", 13)
	f.Add(strings.Repeat("👨‍👩‍👧", 5), 20)
	f.Add("a \u0301\r\n\xff", 1)
	f.Add(strings.Repeat(" ", 30)+"x", 4)
	f.Add("🇵🇱🇵🇱🇵", 7)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		checkSplit(t, text, limit%3000)
		limit %= 3000
		switch short := pages.Shorten(text, limit); {
		case len(short) > max(limit, 0):
			t.Errorf("Shorten(%q, %d) = %q has %d bytes", text, limit, short, len(short))
		case !utf8.ValidString(short):
			t.Errorf("Shorten(%q, %d) = %q is not UTF-8", text, limit, short)
		}
	})
}

// checkSplit holds what Split promises.
func checkSplit(t *testing.T, text string, limit int) {
	t.Helper()
	parts := pages.Split(text, limit)
	limit = max(limit, utf8.UTFMax)
	text = strings.ToValidUTF8(text, "\ufffd")
	borders, longest := characters(text)
	pos := 0
	for i, part := range parts {
		if strings.TrimSpace(part) == "" {
			t.Fatalf("Split(%q, %d): part %d is blank: %q", text, limit, i, parts)
		}
		if len(part) > limit {
			t.Fatalf("Split(%q, %d): part %d has %d bytes", text, limit, i, len(part))
		}
		// White space may be missing before the part, nothing else.
		at := strings.Index(text[pos:], part)
		if at < 0 || strings.TrimSpace(text[pos:pos+at]) != "" {
			t.Fatalf("Split(%q, %d): parts %q lose something before part %d", text, limit, parts, i)
		}
		if longest <= limit && (!borders[pos+at] || !borders[pos+at+len(part)]) {
			t.Fatalf("Split(%q, %d): part %d, %q, cuts a character", text, limit, i, part)
		}
		pos += at + len(part)
	}
	if strings.TrimRightFunc(text[pos:], unicode.IsSpace) != "" {
		t.Fatalf("Split(%q, %d): parts %q lose the end %q", text, limit, parts, text[pos:])
	}
	if len(text) <= limit && len(parts) == 1 && parts[0] != text {
		t.Fatalf("Split(%q, %d) changed a text that fits: %q", text, limit, parts)
	}
}

// characters returns the offsets between characters and the longest character.
func characters(text string) (borders map[int]bool, longest int) {
	borders = map[int]bool{0: true}
	g := uniseg.NewGraphemes(text)
	for g.Next() {
		from, to := g.Positions()
		borders[to] = true
		longest = max(longest, to-from)
	}
	return borders, longest
}
