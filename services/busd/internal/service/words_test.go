package service_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"quartet/services/busd/internal/service"
)

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name, command string
		want          []string
		fault         error
	}{
		// bus1/dbus-broker#172: a regression refused what needs no quoting at all.
		{name: "PlainPath", command: "/usr/lib/x_y-1.2/daemon", want: []string{"/usr/lib/x_y-1.2/daemon"}},
		{name: "Arguments", command: "/bin/a --b=c  d\te\nf", want: []string{"/bin/a", "--b=c", "d", "e", "f"}},
		{name: "SpacesAroundAddNoWords", command: "  /bin/a  ", want: []string{"/bin/a"}},
		{name: "SingleQuotes", command: `a 'b "c" \ $d' e`, want: []string{"a", `b "c" \ $d`, "e"}},
		{name: "DoubleQuotes", command: "a \"b 'c' \\\" \\\\ \\$ \\` \\x\"", want: []string{"a", "b 'c' \" \\ $ ` \\x"}},
		{name: "QuotesInsideAWord", command: `a"b c"'d e'f`, want: []string{"ab cd ef"}},
		{name: "EmptyQuotesAreAWord", command: `a "" ''`, want: []string{"a", "", ""}},
		{name: "Backslash", command: `a\ b \"c\" \\ \n`, want: []string{"a b", `"c"`, `\`, "n"}},
		{name: "BackslashJoinsLines", command: "a\\\nb \"c\\\nd\" '\\\n'", want: []string{"ab", "cd", "\\\n"}},
		{name: "JoinedLinesAreNoWord", command: "a \\\n b", want: []string{"a", "b"}},
		{name: "NoExpansion", command: "a $HOME ~ *.c `b` $(c) | d > e ; f && g {1,2}",
			want: []string{"a", "$HOME", "~", "*.c", "`b`", "$(c)", "|", "d", ">", "e", ";", "f", "&&", "g", "{1,2}"}},
		{name: "Comment", command: "a # b 'c\nd", want: []string{"a", "d"}},
		{name: "NumberSignInsideAWord", command: `a#b "#c" \#d --color=#fff`, want: []string{"a#b", "#c", "#d", "--color=#fff"}},
		{name: "NotASCII", command: "a 'ü ö'", want: []string{"a", "ü ö"}},
		{name: "OtherWhiteSpaceIsAByte", command: "a\vb\rc\u00a0d", want: []string{"a\vb\rc\u00a0d"}},
		{name: "Empty", command: "", fault: service.ErrNoWords},
		{name: "Blank", command: " \t\n", fault: service.ErrNoWords},
		{name: "OnlyAComment", command: "# a", fault: service.ErrNoWords},
		{name: "OpenSingleQuote", command: "a 'b", fault: service.ErrUnclosedQuote},
		{name: "OpenDoubleQuote", command: `a "b`, fault: service.ErrUnclosedQuote},
		{name: "EscapedDoubleQuoteClosesNothing", command: `a "b\"`, fault: service.ErrUnclosedQuote},
		{name: "OpenBackslash", command: `a \`, fault: service.ErrUnclosedQuote},
		{name: "OpenBackslashInQuotes", command: `a "\`, fault: service.ErrUnclosedQuote},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := service.Words(c.command)
			if !errors.Is(err, c.fault) || !slices.Equal(got, c.want) {
				t.Errorf("Words(%q) gave %q, %v; want %q, %v", c.command, got, err, c.want, c.fault)
			}
		})
	}
}

// CVE-2022-31212: the buffer for a word was taken for too small a length
// when every byte of it had to be quoted.
func TestWordsOfQuotesOnly(t *testing.T) {
	for length := range 300 {
		for _, part := range []string{"'", `"`, `\`, " ", "#", "\n", `'\''`} {
			_, _ = service.Words(strings.Repeat(part, length))
			want := strings.Repeat(part, length)
			got, err := service.Words(quote(want))
			if err != nil || len(got) != 1 || got[0] != want {
				t.Fatalf("%q came back as %q, %v", want, got, err)
			}
		}
	}
}

// quote writes any string as one word.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"/bin/a --b 'c d' \"e \\\" f\" g\\ h # i\nj", `a "b\"`, `\`, `"`, `'`, "#", "", " ", "a\\\nb", `''""`, "a#b", "\x00", "\xff'\xff'",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		words, err := service.Words(command)
		if (err == nil) != (len(words) > 0) {
			t.Fatalf("Words(%q) gave %q with error %v", command, words, err)
		}
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = quote(w)
		}
		again, err := service.Words(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(again, words) {
			t.Errorf("%q came back as %q, %v", words, again, err)
		}
	})
}

func BenchmarkWords(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := service.Words(`/usr/lib/gvfs/gvfsd --option "a b" 'c d'`); err != nil {
			b.Fatal(err)
		}
	}
}
