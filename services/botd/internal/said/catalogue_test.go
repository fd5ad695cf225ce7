package said_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quartet/services/botd/internal/said"
)

var hole = regexp.MustCompile(`\{([^{}]*)\}`)

// holes returns the values that a sentence needs, and how many forms each of
// its plurals has.
func holes(t *testing.T, sentence string) (names map[string]bool, forms []int) {
	t.Helper()
	names = map[string]bool{}
	for _, h := range hole.FindAllStringSubmatch(sentence, -1) {
		name, words, plural := strings.Cut(h[1], ":")
		names[name] = true
		if plural {
			forms = append(forms, strings.Count(words, "|")+1)
		}
		if plural && name != "n" {
			t.Errorf("%q has a plural by %q, which may be no number", sentence, name)
		}
	}
	if strings.ContainsAny(hole.ReplaceAllString(sentence, ""), "{}|") {
		t.Errorf("%q has a brace or bar too much", sentence)
	}
	return names, forms
}

func TestBothLanguagesSayTheSame(t *testing.T) {
	polish, english := said.Catalogues()
	for k := range polish {
		pl, en := polish[k], english[k]
		if pl == "" || en == "" {
			t.Errorf("sentence %d is missing in one language: %q, %q", k, pl, en)
		}
		plNames, plForms := holes(t, pl)
		enNames, enForms := holes(t, en)
		if !maps.Equal(plNames, enNames) {
			t.Errorf("%q and %q need different values", pl, en)
		}
		for _, n := range plForms {
			if n != 3 {
				t.Errorf("%q has a plural with %d forms, Polish has 3", pl, n)
			}
		}
		for _, n := range enForms {
			if n != 2 {
				t.Errorf("%q has a plural with %d forms, English has 2", en, n)
			}
		}
		if len(plForms) != len(enForms) {
			t.Errorf("%q has %d plurals, %q has %d", pl, len(plForms), en, len(enForms))
		}
	}
}

func TestSentencesAreTidy(t *testing.T) {
	polish, english := said.Catalogues()
	for _, s := range slices.Concat(polish, english) {
		if strings.TrimSpace(s) != s || strings.Contains(s, "  ") || strings.Contains(s, "\n") {
			t.Errorf("%q has white space too much", s)
		}
	}
}
