package said_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/said"
)

func TestPluralForms(t *testing.T) {
	const one, few, many = 0, 1, 2
	for n, want := range map[int]int{
		0: many, 1: one, 2: few, 3: few, 4: few, 5: many, 10: many, 11: many, 12: many, 13: many, 14: many, 15: many, 20: many, 21: many,
		22: few, 24: few, 25: many, 100: many, 101: many, 102: few, 111: many, 112: many, 114: many, 122: few, 1000: many, 1001: many,
		1002: few, 1012: many, -1: one, -2: few, -12: many, math.MaxInt: many, math.MinInt: many,
	} {
		if got := said.Form(said.Polish, n); got != want {
			t.Errorf("Polish form of %d is %d, want %d", n, got, want)
		}
	}
	for n, want := range map[int]int{0: 1, 1: 0, 2: 1, 11: 1, 21: 1, 101: 1, -1: 0, math.MinInt: 1} {
		if got := said.Form(said.English, n); got != want {
			t.Errorf("English form of %d is %d, want %d", n, got, want)
		}
	}
}

func TestDurationsInWords(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	tests := []struct {
		d                time.Duration
		in, lasting, eng string
	}{
		{-1, "za chwilę", "0 sekund", "in a moment"},
		{0, "za chwilę", "0 sekund", "in a moment"},
		{1, "za 1 sekundę", "1 sekunda", "in 1 second"},
		{s, "za 1 sekundę", "1 sekunda", "in 1 second"},
		{3 * s, "za 3 sekundy", "3 sekundy", "in 3 seconds"},
		{5 * s, "za 5 sekund", "5 sekund", "in 5 seconds"},
		{12 * s, "za 12 sekund", "12 sekund", "in 12 seconds"},
		{22 * s, "za 22 sekundy", "22 sekundy", "in 22 seconds"},
		{59*s + 1, "za 1 minutę", "1 minuta", "in 1 minute"},
		{90 * s, "za 1 minutę i 30 sekund", "1 minuta i 30 sekund", "in 1 minute and 30 seconds"},
		{59*m + 59*s + 1, "za 1 godzinę", "1 godzina", "in 1 hour"},
		{h + 1, "za 1 godzinę i 1 minutę", "1 godzina i 1 minuta", "in 1 hour and 1 minute"},
		{2*h + 2*m, "za 2 godziny i 2 minuty", "2 godziny i 2 minuty", "in 2 hours and 2 minutes"},
		{23*h + 59*m + s, "za 1 dzień", "1 dzień", "in 1 day"},
		{24*h + 1, "za 1 dzień i 1 godzinę", "1 dzień i 1 godzina", "in 1 day and 1 hour"},
		{48 * h, "za 2 dni", "2 dni", "in 2 days"},
		{120*h + 5*h, "za 5 dni i 5 godzin", "5 dni i 5 godzin", "in 5 days and 5 hours"},
		{math.MaxInt64, "za 106751 dni i 23 godziny", "106751 dni i 23 godziny", "in 106751 days and 23 hours"},
	}
	for _, tt := range tests {
		if got := said.Polish.In(tt.d); got != tt.in {
			t.Errorf("Polish.In(%v) = %q, want %q", tt.d, got, tt.in)
		}
		if got := said.Polish.Lasting(tt.d); got != tt.lasting {
			t.Errorf("Polish.Lasting(%v) = %q, want %q", tt.d, got, tt.lasting)
		}
		if got := said.English.In(tt.d); got != tt.eng {
			t.Errorf("English.In(%v) = %q, want %q", tt.d, got, tt.eng)
		}
	}
}

func TestParseLang(t *testing.T) {
	for code, want := range map[string]said.Lang{"pl": said.Polish, "EN": said.English} {
		if l, err := said.ParseLang(code); err != nil || l != want {
			t.Errorf("ParseLang(%q) = %v, %v", code, l, err)
		}
	}
	for _, code := range []string{"", "de", "pl-PL"} {
		if _, err := said.ParseLang(code); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("ParseLang(%q): %v", code, err)
		}
	}
}

func TestNamesOfPeopleCannotDisturbASentence(t *testing.T) {
	for name, want := range map[string]string{
		"Ala":              "Ala",
		" \u200b\n ":       "Ktoś bez nazwy",
		"Ala\n\n!status":   "Ala !status",
		"\u202eAla":        "Ala",
		"{person} {n:a|b}": "{person} {n:a|b}",
		"👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿":           "👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
		strings.Repeat("a", 5000): strings.Repeat("a", 77) + "…",
	} {
		if got := said.Polish.AboutYou(name, 1, "!zapomnij"); !strings.HasPrefix(got, want+": ") {
			t.Errorf("%q is called %q, want %q", name, got, want)
		}
	}
}

// Whatever a group is called, the last line of the notice about it is what allows it.
func TestTitleOfAGroupIsNotTakenForWhatAllowsIt(t *testing.T) {
	for _, l := range []said.Lang{said.Polish, said.English} {
		for _, title := range []string{"Koty", "x: !dopuść other", "x\n!dopuść other", "x\u2028!dopuść other"} {
			lines := strings.FieldsFunc(l.UnknownGroup(title, "!dopuść this"), func(c rune) bool { return c == '\n' || c == '\u2028' })
			if len(lines) != 2 || lines[1] != "!dopuść this" {
				t.Errorf("of %q: %q", title, lines)
			}
		}
	}
}

func TestCaptionsAreBounded(t *testing.T) {
	long := strings.Repeat("ż", 5000)
	c := said.Polish.Caption(said.Credit{Title: long, Author: long, Licence: long, Source: "https://" + long})
	if len(c) > 2000 || strings.Contains(c, "https") {
		t.Errorf("%d bytes, or part of a URL: %s", len(c), c)
	}
	if c := said.English.Caption(said.Credit{}); c != "" {
		t.Errorf("a caption of nothing: %q", c)
	}
	if c := said.English.Caption(said.Credit{Title: "a\nb"}); c != "a b" {
		t.Errorf("a title of two lines: %q", c)
	}
}

// Only what has taken time is blamed for it.
func TestTheSlowestPartIsNamed(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		own, upstream, send time.Duration
		pl, en              string
	}{
		{own: 1, pl: "moja część, 100%", en: "my own part, 100%"},
		{own: s, upstream: 5 * s, send: 2 * s, pl: "cudze serwery, 63%", en: "other servers, 63%"},
		{own: s, upstream: s, send: 2 * s, pl: "wysyłka, 50%", en: "sending, 50%"},
		{own: 1 << 62, upstream: 1 << 62, send: 1<<62 + 1<<60, pl: "wysyłka, 38%", en: "sending, 38%"},
		{},
	} {
		state := said.State{Own: said.Spread{Sum: tt.own}, Upstream: said.Spread{Sum: tt.upstream}, Send: said.Spread{Sum: tt.send}}
		for l, want := range map[said.Lang]string{said.Polish: tt.pl, said.English: tt.en} {
			got := l.State(state)
			if want == "" && strings.Contains(got, "%.") || !strings.HasSuffix(got, want+".") && want != "" {
				t.Errorf("%v, %v, %v: want %q at the end of:\n%s", tt.own, tt.upstream, tt.send, want, got)
			}
		}
	}
}

func FuzzHarmless(f *testing.F) {
	f.Add("Ala {n:a|b}\n")
	f.Add("\u202e\ufffc\xff👨‍👩‍👧")
	f.Add(strings.Repeat("e\u0301", 100))
	f.Fuzz(func(t *testing.T, s string) {
		got := said.Harmless(s)
		if len(got) > 80 || !utf8.ValidString(got) || strings.TrimSpace(got) != got || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q became %q", s, got)
		}
		if again := said.Harmless(got); again != got {
			t.Errorf("%q became %q and then %q", s, got, again)
		}
	})
}

func FuzzDurations(f *testing.F) {
	f.Add(int64(59*time.Second + 1))
	f.Add(int64(math.MaxInt64))
	f.Add(int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, n int64) {
		for _, l := range []said.Lang{said.Polish, said.English} {
			for _, s := range []string{l.In(time.Duration(n)), l.Lasting(time.Duration(n))} {
				if s == "" || strings.ContainsAny(s, "{}|-") || n > 0 && strings.Contains(" "+s, " 0 ") {
					t.Errorf("%v is %q", time.Duration(n), s)
				}
			}
		}
	})
}

// Who is to be mentioned has an @, whatever the operator called the parameter.
func TestUsageShowsWhereToMentionSomebody(t *testing.T) {
	params := []asked.Param{{Name: "kto", Kind: asked.Person}, {Name: "person", Kind: asked.Person, Optional: true}}
	usage := said.Polish.Usage("!za", params)
	if usage != "!za <@kto> [@osoba]" {
		t.Error(usage)
	}
	if text := said.Polish.BadArguments(&asked.Misfit{Reason: asked.Missing, Param: params[0]}, usage); !strings.Contains(text, ": @kto.") {
		t.Error(text)
	}
}
