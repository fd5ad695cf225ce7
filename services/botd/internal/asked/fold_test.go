package asked_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"quartet/services/botd/internal/asked"
)

func TestFoldingDropsCapitalsAndMarks(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"kot":                     "kot",
		"ZAŻÓŁĆ GĘŚLĄ JAŹŃ":       "zazolc gesla jazn",
		"zażółć gęślą jaźń":       "zazolc gesla jazn",
		"za\u017co\u0301łc\u0301": "zazolc",
		"Ärger, Straße, Øre":      "arger, strasse, ore",
		"I\u0307stanbul ısı":      "istanbul isi",
		"k\u200do\u00adt\ufe0f":   "kot",
		"кот":                     "кот",
		"Й":                       "и",
		"हिन्दी":                  "हिन्दी", // marks that are letters stay
	} {
		if got := asked.Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFoldingAnyCharacterTwiceChangesNothing(t *testing.T) {
	for c := rune(0); c <= unicode.MaxRune; c++ {
		s := string(c)
		once := asked.Fold(s)
		if twice := asked.Fold(once); twice != once {
			t.Errorf("Fold(%q) = %q, and again %q", s, once, twice)
		}
		if d := asked.Fold(norm.NFD.String(s)); d != once {
			t.Errorf("Fold(%q) = %q, but decomposed %q", s, once, d)
		}
		if (unicode.IsLetter(c) || unicode.IsDigit(c)) && (once == "" || strings.IndexFunc(once, unicode.IsSpace) >= 0) {
			t.Errorf("Fold(%q) = %q is no name", s, once)
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add("Zażółć")
	f.Add("a\u0328\u0301\u200d\u0327")
	f.Add("\xff\u1100\u1161ß")
	f.Add("\xf7\u06c0")
	f.Fuzz(func(t *testing.T, s string) {
		once := asked.Fold(s)
		if twice := asked.Fold(once); twice != once {
			t.Errorf("Fold(%q) = %q, and again %q", s, once, twice)
		}
		s = strings.ToValidUTF8(s, "") // what the forms are defined for
		once = asked.Fold(s)
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if got := asked.Fold(form.String(s)); got != once {
				t.Errorf("Fold(%q) = %q, in another form %q", s, once, got)
			}
		}
	})
}

func TestNamesThatNoTextCouldCallAreRefused(t *testing.T) {
	r := reader(t)
	for name, good := range map[string]bool{
		"kot": true, "włącz": true, "8ball": true, "a-b_c": true, "кот": true, "o\u0301": true,
		"": false, "-a": false, "a-": false, "ko t": false, "ko\u00a0t": false, "ko.t": false, "!kot": false, "🐱": false,
		"\xff": false, "ko\ufffct": false, strings.Repeat("a", 129): false,
	} {
		if err := asked.CheckName(name); (err == nil) != good {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
		if c, ok := r.Read("!"+name, nil); good && (!ok || c.Name != asked.Fold(name) || c.Text != "") {
			t.Errorf("!%s is read as %+v, %t", name, c, ok)
		}
	}
}
