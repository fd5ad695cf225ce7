// Package pages cuts long texts into pieces that fit into one Signal message.
//
// Signal takes a text of at most Limit bytes as it is; signal-cli uploads a
// longer one as a file, which is slow and reads badly. A cut never falls inside
// a character as people see it (an emoji of several code points, a letter with
// combining marks), unless that one character alone is longer than a message.
//
// It is pure and does no styling: texts are sent as they are.
package pages

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Limit is how many bytes of UTF-8 Signal takes as one text message.
const Limit = 2000

// Split cuts text into parts of at most limit bytes. It cuts at the last line
// border of the window if that leaves the part at least half full, else at the
// last space, and inside a word only where the word fills the window alone.
//
// Nothing is lost but the white space at a cut; the next line's indentation
// stays. No part is empty or all white space, so a blank text has no parts.
// Bytes that are not UTF-8 become U+FFFD, as they would in JSON. A limit below
// utf8.UTFMax is taken as that.
func Split(text string, limit int) []string {
	limit = max(limit, utf8.UTFMax)
	text = strings.ToValidUTF8(text, "\uFFFD")
	var parts []string
	for strings.TrimSpace(text) != "" {
		end, next := cut(text, limit)
		if part := text[:end]; strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
		text = text[next:]
	}
	return parts
}

// Shorten returns text if it has at most limit bytes, else its beginning with
// an ellipsis behind it, together at most limit bytes. A limit too small for
// the ellipsis gives an empty text.
func Shorten(text string, limit int) string {
	const ellipsis = "…"
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	if limit < len(ellipsis) {
		return ""
	}
	w := window{limit: limit - len(ellipsis)}
	w.scan(text)
	return strings.TrimRightFunc(text[:w.full], unicode.IsSpace) + ellipsis
}

// cut returns where the first part of text ends and where the next begins.
// next is greater than 0.
func cut(text string, limit int) (end, next int) {
	if len(text) <= limit {
		return len(text), len(text)
	}
	w := window{limit: limit}
	if w.scan(text) {
		return w.content, len(text) // what is too much is white space
	}
	switch {
	case w.line.next > 0 && w.line.end >= limit/2:
		return w.line.end, w.line.next
	case w.space.next > 0:
		return w.space.end, w.space.next
	case w.full > 0:
		return w.full, w.full
	}
	// One character is longer than a message. It is broken between code points.
	end = limit
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return end, end
}

// gap is white space where a text can be cut: the part before it ends at end,
// the one behind begins at next. A gap without next is none.
type gap struct{ end, next int }

// window looks for cuts in the beginning of a text.
type window struct {
	limit int
	line  gap // the last gap with a line border in it; next is behind the border
	space gap // the last gap of any kind

	full    int // the last border between characters
	content int // the end of the last character that is no white space
}

// scan goes through text until a character does not fit any more. It reports
// whether there was none, white space at the end left out.
func (w *window) scan(text string) (fits bool) {
	state := -1
	rest, pos := text, 0
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		blank, line := breaking(cluster)
		if !blank && pos+len(cluster) > w.limit {
			return false
		}
		pos += len(cluster)
		if pos <= w.limit {
			w.full = pos
		}
		if !blank {
			w.content = pos
			continue
		}
		// Spaces before the first word are no place for a cut: the part would be empty.
		if w.content == 0 {
			continue
		}
		w.space = gap{w.content, pos}
		if line {
			w.line = gap{w.content, pos}
			continue
		}
		if w.line.end == w.content {
			w.space = w.line // indentation belongs to the line behind the border
		}
	}
	return true
}

// breaking tells white space where a text may be cut, and line borders among
// it. A no-break space says that it may not; a space with a combining mark on
// it is a visible character.
func breaking(cluster string) (blank, line bool) {
	switch cluster {
	case "\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029":
		return true, true
	case "\u00a0", "\u2007", "\u202f":
		return false, false
	}
	r, size := utf8.DecodeRuneInString(cluster)
	return size == len(cluster) && unicode.IsSpace(r), false
}
