package upstream

import (
	"html"
	"strings"
	"unicode"

	"quartet/services/botd/internal/pages"
)

const (
	maxHTML  = 16 << 10 // bytes of HTML that are looked at
	maxPlain = 300      // bytes of text that are kept of it
)

// plain is what somebody would read of a piece of HTML: its text on one line,
// without what is hidden, at most maxPlain bytes. Any text is taken; what is
// no HTML stays as it is. The result is text and may have angle brackets.
func plain(source string) string {
	rest := source[:min(len(source), maxHTML)]
	var out strings.Builder
	hidden, depth := "", 0 // the element that is not shown, and how often it is open
	for rest != "" {
		text, tag, after := nextTag(rest)
		rest = after
		if hidden == "" {
			out.WriteString(text)
		}
		name, closing := tagName(tag)
		switch {
		case hidden != "" && name != hidden:
		case hidden != "" && closing:
			if depth--; depth == 0 {
				hidden = ""
			}
		case hidden != "":
			depth++
		case !closing && isHidden(name, tag):
			hidden, depth = name, 1
		case !inline[name] && name != "":
			out.WriteByte(' ')
		}
	}
	text := strings.Join(strings.FieldsFunc(html.UnescapeString(strings.ToValidUTF8(out.String(), "")), isGap), " ")
	return pages.Shorten(text, maxPlain)
}

func isGap(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }

// inline elements do not part words. Others do, also those that nobody knows.
var inline = map[string]bool{"a": true, "abbr": true, "b": true, "bdi": true, "em": true, "i": true, "small": true, "span": true, "strong": true, "sub": true, "sup": true, "u": true}

// nextTag cuts rest into the text before its first tag, what is in the tag, and
// the rest after it. Without a tag all is text. A tag that does not end is a
// tag to the end: half of one is no text.
func nextTag(rest string) (text, tag, after string) {
	start := 0
	for {
		i := strings.IndexByte(rest[start:], '<')
		if i < 0 {
			return rest, "", ""
		}
		start += i
		if next := rest[start+1:]; next != "" && (next[0] == '/' || next[0] == '!' || next[0] == '?' || isLetter(next[0])) {
			break
		}
		start++ // as in 1 < 2
	}
	text, inside := rest[:start], rest[start+1:]
	if comment, ok := strings.CutPrefix(inside, "!--"); ok {
		_, after, _ = strings.Cut(comment, "-->")
		return text, "", after
	}
	var quote byte
	for i := range len(inside) {
		switch c := inside[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return text, inside[:i], inside[i+1:]
		}
	}
	return text, "", ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// tagName returns the name of the element that a tag opens or closes.
func tagName(tag string) (name string, closing bool) {
	tag, closing = strings.CutPrefix(tag, "/")
	end := strings.IndexFunc(tag, func(c rune) bool { return unicode.IsSpace(c) || c == '/' })
	if end < 0 {
		end = len(tag)
	}
	return strings.ToLower(tag[:end]), closing
}

// empty elements have no content that could be hidden.
var empty = map[string]bool{"area": true, "br": true, "hr": true, "img": true, "input": true, "link": true, "meta": true, "wbr": true}

// isHidden says whether what a tag opens is not shown. Commons itself hides text so: it repeats
// the name of an unknown author for machines.
func isHidden(name, tag string) bool {
	if name == "script" || name == "style" {
		return true
	}
	if empty[name] || strings.HasSuffix(tag, "/") {
		return false
	}
	style := strings.ToLower(strings.Join(strings.Fields(tag), ""))
	return strings.Contains(style, "display:none")
}
