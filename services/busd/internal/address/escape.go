package address

import (
	"errors"
	"fmt"
	"strings"
)

const hexDigits = "0123456789abcdef"

// optional says of a byte that it may stand in a value as it is: the
// specification's "optionally-escaped" bytes.
func optional(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte(`-_/\.*`, c) >= 0
}

// Escape writes a value so that it can stand in an address. Bytes that need
// not be escaped are not.
func Escape(value string) string {
	escaped := 0
	for i := range len(value) {
		if !optional(value[i]) {
			escaped++
		}
	}
	if escaped == 0 {
		return value
	}
	b := make([]byte, 0, len(value)+2*escaped)
	for i := range len(value) {
		if c := value[i]; optional(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

// Unescape reads a value out of an address. It refuses a percent sign that
// is not followed by two hexadecimal digits, and bytes that should have been
// escaped.
func Unescape(value string) (string, error) {
	b := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c != '%' && optional(c):
			b = append(b, c)
		case c != '%':
			return "", fmt.Errorf("byte %#02x must be written %%%02x", c, c)
		case len(value)-i < 3:
			return "", errors.New("it ends within a %-escape")
		default:
			high, low := digit(value[i+1]), digit(value[i+2])
			if high < 0 || low < 0 {
				return "", fmt.Errorf("%q is not an escape: %% wants two hexadecimal digits", value[i:i+3])
			}
			b = append(b, byte(high<<4|low))
			i += 2
		}
	}
	return string(b), nil
}

// digit is the value of a hexadecimal digit of either case, or -1.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
