// Package said has the words that the bot says to people, in Polish and in
// English: one method of Lang for each message, so that a message cannot be
// sent without what belongs in it.
//
// The sentences are in pl.go and en.go, side by side under one key. In them
// {name} is a value, and {n:one|few|many} (in English {n:one|other}) picks a
// word by a number. What comes from people (names, titles, words that they
// typed) is brought to one line, bounded and freed of marks that could disturb
// the rest.
//
// It is pure: values in, text out.
package said

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"quartet/services/botd/internal/pages"
)

// Lang is a language. The zero value is Polish.
type Lang int

// The languages.
const (
	Polish Lang = iota
	English
)

// ParseLang reads a language's code, pl or en.
func ParseLang(code string) (Lang, error) {
	for _, l := range []Lang{Polish, English} {
		if strings.EqualFold(code, l.String()) {
			return l, nil
		}
	}
	return Polish, fmt.Errorf("language %q: %w", code, errors.ErrUnsupported)
}

// String returns the language's code.
func (l Lang) String() string {
	if l == English {
		return "en"
	}
	return "pl"
}

// say fills the sentence under k.
func (l Lang) say(k key, args ...arg) string {
	if l == English {
		return fill(l, en[k], args)
	}
	return fill(l, pl[k], args)
}

// arg is a value for a placeholder.
type arg struct {
	name string
	text string
	n    int // what a plural goes by
}

// text is a value of our own making.
func text(name, s string) arg { return arg{name: name, text: s} }

// theirs is a value that came from people, made harmless.
func theirs(name, s string) arg { return arg{name: name, text: harmless(s, maxTheirs)} }

// count is a number.
func count(name string, n int) arg { return arg{name: name, text: strconv.Itoa(n), n: n} }

// fill puts args into a template, in one pass: a brace in a value is a brace.
func fill(l Lang, template string, args []arg) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		hole, after, _ := strings.Cut(rest, "}")
		name, forms, plural := strings.Cut(hole, ":")
		for _, a := range args {
			if a.name != name {
				continue
			}
			if plural {
				out.WriteString(strings.Split(forms, "|")[form(l, a.n)])
			} else {
				out.WriteString(a.text)
			}
		}
		template = after
	}
}

// maxTheirs is how many bytes of a name, a title or a word are repeated.
const maxTheirs = 80

// harmless makes what people wrote fit into a sentence: one line, no marks that
// turn the direction of what follows, at most limit bytes. Joiners and tags
// stay, emojis are made of them.
func harmless(s string, limit int) string {
	const joiner, firstTag, lastTag = '\u200D', 0xE0020, 0xE007F
	s = strings.Map(func(c rune) rune {
		switch {
		case c == joiner, c >= firstTag && c <= lastTag:
			return c
		case unicode.Is(unicode.Cf, c), c == '\uFFFC':
			return -1
		case unicode.IsControl(c), unicode.IsSpace(c):
			return ' '
		}
		return c
	}, s)
	return pages.Shorten(strings.Join(strings.Fields(s), " "), limit)
}
