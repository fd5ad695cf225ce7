package wire

import (
	"strings"
	"unicode/utf8"
)

// validText reports whether s may be a value of type s: UTF-8 without
// surrogates, overlong forms or code points above U+10FFFF, and without a NUL.
// Specification, "Summary of types", "string-like types".
func validText(s string) bool {
	// Nearly all text is ASCII: a byte of 0x80 or more has its top bit, and
	// 0x00 gets it (from itself, or from a neighbour's borrow) by subtracting 1.
	if len(s) < 8 {
		for i := 0; i < len(s); i++ {
			if s[i]-1 >= 0x7f {
				return validUnicode(s)
			}
		}
		return true
	}
	b := bytesOf(s)
	i := 0
	for ; i+32 <= len(b); i += 32 {
		w := b[i : i+32 : i+32]
		a, b, c, d := load64(w, 0), load64(w, 8), load64(w, 16), load64(w, 24)
		if (a|(a-ones)|b|(b-ones)|c|(c-ones)|d|(d-ones))&tops != 0 {
			return validUnicode(s[i:])
		}
	}
	for ; i+8 <= len(b); i += 8 {
		if w := load64(b, i); (w|(w-ones))&tops != 0 {
			return validUnicode(s[i:])
		}
	}
	w := load64(b, len(b)-8) // once more what was seen of it, for the rest
	return (w|(w-ones))&tops == 0 || validUnicode(s[i:])
}

func validUnicode(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}
