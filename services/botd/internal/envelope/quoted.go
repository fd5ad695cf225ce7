package envelope

import (
	"encoding/binary"
	"math/bits"
)

// quoted reads what stands between quotes, as it is written.
func (s *scanner) quoted() (content []byte, escaped bool) {
	if s.next() != '"' {
		s.fail()
		return nil, false
	}
	start := s.at + 1
	for s.at = start; ; {
		s.at += plainLength(s.b[s.at:])
		switch rest := s.b[s.at:]; {
		case len(rest) == 0 || rest[0] < ' ':
			s.fail()
			return nil, false
		case rest[0] == '"':
			s.at++
			return s.b[start : s.at-1], escaped
		default:
			n := escape(rest)
			if n == 0 {
				s.fail()
				return nil, false
			}
			escaped = true
			s.at += n
		}
	}
}

// Each byte of a word is one.
const ones = 0x0101010101010101

// plainLength is how many bytes stand before the first quote, backslash or
// control character. It looks at eight at once: of a byte that is zero, or less
// than a blank, the subtraction borrows the highest bit. The borrow may reach
// bytes above it, never those below, so the first one found is right.
func plainLength(b []byte) int {
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		quote, slash := w^ones*'"', w^ones*'\\'
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & (ones << 7)
		if found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	for n < len(b) && b[n] != '"' && b[n] != '\\' && b[n] >= ' ' {
		n++
	}
	return n
}

// escape is how long the escape is with which b begins; 0 for none that JSON
// knows.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if hex4(b) >= 0 {
			return 6
		}
	}
	return 0
}
