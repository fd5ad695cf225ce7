package asked

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns the spelling that names are compared in: lower case, without
// diacritics and invisible marks. Fold of what it returned changes nothing.
// Bytes that are not UTF-8 become U+FFFD.
func Fold(s string) string {
	if plain(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for _, c := range norm.NFD.String(strings.ToValidUTF8(s, "\uFFFD")) {
		switch {
		case c >= 0x300 && c <= 0x36F, unicode.Is(unicode.Cf, c), variation(c):
			continue
		}
		switch c = unicode.ToLower(c); c {
		case 'ł': // strokes are no marks that could be taken off
			c = 'l'
		case 'ø':
			c = 'o'
		case 'đ':
			c = 'd'
		case 'ı':
			c = 'i'
		case 'ß':
			out.WriteByte('s')
			c = 's'
		}
		out.WriteRune(c)
	}
	return out.String()
}

// plain reports whether s is folded already, as names in ASCII are.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return true
}

// CheckName refuses a name that no text could call: a name begins with a letter
// or digit, ends in one, and has nothing but letters, digits, - and _ between.
func CheckName(name string) error {
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	switch {
	case name == "":
		return errors.New("a command's name is empty")
	case !utf8.ValidString(name):
		return fmt.Errorf("command name %q is not UTF-8", name)
	case len(name) > maxName:
		return fmt.Errorf("command name %q has more than %d bytes", name, maxName)
	case !startsName(first) || !inWord(last):
		return fmt.Errorf("command name %q does not begin and end with a letter or digit", name)
	}
	for _, c := range name {
		if !inWord(c) && c != '-' && c != '_' {
			return fmt.Errorf("command name %q has %q in it; letters, digits, - and _ may be", name, c)
		}
	}
	return nil
}

// startsName tells the beginning of a name from an exclamation.
func startsName(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// inWord reports whether c is a part of words: a letter, a digit or a mark on one.
func inWord(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.Is(unicode.M, c) && !variation(c)
}

// separates reports whether c ends a word: white space, the no-break kinds
// among it, or a mention.
func separates(c rune) bool { return unicode.IsSpace(c) || c == placeholder }

// blank reports whether c shows nothing. Phones, web pages and keyboards leave
// such marks before a command and behind its prefix.
func blank(c rune) bool {
	switch c {
	case '\u034F', '\u2800', '\u3164': // grapheme joiner, braille blank, Hangul filler
		return true
	}
	return separates(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || variation(c)
}

// variation reports whether c only chooses how the character before it looks.
func variation(c rune) bool { return c >= 0xFE00 && c <= 0xFE0F }

// trim takes blanks off both ends of an argument. The tags and selectors at the
// end of emojis are not blank there: a flag would fall apart.
func trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool {
		return separates(c) || unicode.Is(unicode.Cf, c) && (c < 0xE0020 || c > 0xE007F)
	})
}
