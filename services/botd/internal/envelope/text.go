package envelope

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// texts makes strings out of what stands between JSON's quotes. They lie in one
// block: as long as it has room, another string costs no allocation, and as
// long as one of them is kept, all are.
type texts struct{ strings.Builder }

// take adds a string. What is no UTF-8, and half of a surrogate pair, becomes
// U+FFFD, as with encoding/json.
func (t *texts) take(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	from := t.Len()
	if plain(raw) {
		t.Write(raw)
	} else {
		t.unescape(raw)
	}
	return t.String()[from:]
}

func (t *texts) unescape(raw []byte) {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			r, n := utf8.DecodeRune(raw[i:])
			t.WriteRune(r)
			i += n
			continue
		}
		switch c := raw[i+1]; c {
		case 'u':
			r, n := escapedRune(raw[i:])
			t.WriteRune(r)
			i += n
			continue
		case 'b':
			t.WriteByte('\b')
		case 'f':
			t.WriteByte('\f')
		case 'n':
			t.WriteByte('\n')
		case 'r':
			t.WriteByte('\r')
		case 't':
			t.WriteByte('\t')
		default:
			t.WriteByte(c)
		}
		i += 2
	}
}

// escapedRune is the character that b's first \u stands for, with the second
// one that may belong to it, and how long they are.
func escapedRune(b []byte) (r rune, n int) {
	r = hex4(b)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if pair := utf16.DecodeRune(r, hex4(b[6:])); pair != unicode.ReplacementChar {
		return pair, 12
	}
	return unicode.ReplacementChar, 6
}

// hex4 is the number in a \u escape, -1 when b does not begin with one.
func hex4(b []byte) (r rune) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// plain reports whether raw is spelled as it is written.
func plain(raw []byte) bool { return bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) }
