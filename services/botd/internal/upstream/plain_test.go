package upstream_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"quartet/services/botd/internal/upstream"
)

func TestPlainIsWhatAReaderSees(t *testing.T) {
	for source, want := range map[string]string{
		"Ala":                                  "Ala",
		`<a href="x" title="a > b">Ala</a> B`:  "Ala B",
		"<p>Ala</p><p>Ola</p>":                 "Ala Ola",
		"Ala<br/>Ola":                          "Ala Ola",
		"A<b>l</b>a":                           "Ala",
		"Ala &amp; Ola &lt;x&gt; &#379;":       "Ala & Ola <x> Ż",
		"1 < 2 > 0":                            "1 < 2 > 0",
		"a <":                                  "a <",
		"Ala <a href=":                         "Ala",
		"Ala<!-- no > one --> Ola":             "Ala Ola",
		"Ala <!-- for ever":                    "Ala",
		"<script>a<b>c</b></script>Ala":        "Ala",
		"<STYLE>x</style >Ala<script>for ever": "Ala",
		`Unknown author<span style="display: none;">Unknown author</span>`:       "Unknown author",
		`<div STYLE="DISPLAY:NONE"><div>x</div>y</div>Ala`:                       "Ala",
		`<img style="display:none">Ala`:                                          "Ala",
		`<span class="fn"><bdi><a href="//x">Ala</a></bdi></span> (<i>talk</i>)`: "Ala (talk)",
		"\xffAla\x00\n\tOla": "Ala Ola",
		"":                   "",
	} {
		if got := upstream.Plain(source); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{
		"<a href='x'>Ala</a>", "<!--", "<script><script></script>", `<b style="display:none">x</b>`, "&lt;&#x0;&nosuch;", "<", "</", "<<a>>",
		strings.Repeat("<a>ż", 200), "<\xff>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		got := upstream.Plain(source)
		if len(got) > upstream.MaxPlain || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00") || got != strings.TrimSpace(got) {
			t.Errorf("%q is no line of text", got)
		}
		// Text without anything of HTML is not changed, but for its gaps.
		if !strings.ContainsAny(source, "<&") && utf8.ValidString(source) && len(source) < upstream.MaxPlain {
			isText := strings.ToValidUTF8(strings.Join(strings.Fields(strings.Map(noControl, source)), " "), "")
			if got != isText {
				t.Errorf("%q became %q", source, got)
			}
		}
	})
}

func noControl(c rune) rune {
	if c < ' ' || c >= 0x7f && c < 0xa0 {
		return ' '
	}
	return c
}
