package wire

// Names are checked eight bytes at a time. A mask has the top bit of every
// byte that is in a class; the functions below build masks for words whose
// bytes are all ASCII (callers turn down others first).

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// atLeast marks the bytes >= c, for 0 < c < 0x80.
func atLeast(w uint64, c uint64) uint64 { return (w + (0x80-c)*ones) & tops }

// equal marks the bytes equal to c.
func equal(w uint64, c uint64) uint64 { return ^((w ^ c*ones) + 0x7f*ones) & tops }

// letters marks A–Z, a–z and the underscore.
func letters(w uint64) uint64 {
	lower := w | 0x20*ones
	return atLeast(lower, 'a')&^atLeast(lower, 'z'+1) | equal(w, '_')
}

// digits marks 0–9.
func digits(w uint64) uint64 { return atLeast(w, '0') &^ atLeast(w, '9'+1) }

// tail returns the last n bytes of b, 0 < n < 8, as a word filled up with 0, and
// a mask of all bits that are theirs.
//
//go:noinline
func tail(b []byte, n int) (w, used uint64) {
	if len(b) >= 8 {
		w = load64(b, len(b)-8) >> (64 - 8*uint(n))
	} else {
		for i := len(b) - 1; i >= 0; i-- {
			w = w<<8 | uint64(b[i])
		}
	}
	return w, 1<<(8*uint(n)) - 1
}

// ValidPath reports whether s is an object path: "/", or elements of
// [A-Za-z0-9_] behind a slash each. Specification, "Valid Object Paths".
func ValidPath(s string) bool {
	if len(s) < 2 {
		return s == "/"
	}
	if s[0] != '/' || s[len(s)-1] == '/' {
		return false
	}
	var after uint64 // marks the byte behind a slash
	b := bytesOf(s)
	for i := 0; i < len(b); i += 8 {
		w, used := uint64(0), ^uint64(0)
		if n := len(b) - i; n >= 8 {
			w = load64(b, i)
		} else {
			w, used = tail(b, n)
		}
		slash := equal(w, '/')
		bad := w | ^(letters(w) | digits(w) | slash) | (slash<<8|after)&slash
		if bad&tops&used != 0 {
			return false
		}
		after = slash >> 56
	}
	return true
}

// ValidInterface reports whether s is an interface name: two or more elements
// of [A-Za-z_][A-Za-z0-9_]* with dots between them, at most MaxName bytes.
// Specification, "Interface names".
func ValidInterface(s string) bool {
	if len(s) < 3 || len(s) > MaxName || s[len(s)-1] == '.' {
		return false
	}
	first := uint64(0x80) // marks a byte that begins an element
	dots := uint64(0)
	b := bytesOf(s)
	for i := 0; i < len(b); i += 8 {
		w, used := uint64(0), ^uint64(0)
		if n := len(b) - i; n >= 8 {
			w = load64(b, i)
		} else {
			w, used = tail(b, n)
		}
		letter, dot := letters(w), equal(w, '.')
		bad := w | ^(letter | digits(w) | dot) | (dot<<8|first)&^letter
		if bad&tops&used != 0 {
			return false
		}
		first = dot >> 56
		dots |= dot
	}
	return dots != 0
}

// ValidErrorName reports whether s is an error name; the rules are those of
// interface names. Specification, "Error names".
func ValidErrorName(s string) bool { return ValidInterface(s) }

// ValidMember reports whether s is the name of a method or signal:
// [A-Za-z_][A-Za-z0-9_]*, at most MaxName bytes. Specification, "Member names".
func ValidMember(s string) bool {
	if len(s) < 1 || len(s) > MaxName {
		return false
	}
	first := uint64(0x80)
	b := bytesOf(s)
	for i := 0; i < len(b); i += 8 {
		w, used := uint64(0), ^uint64(0)
		if n := len(b) - i; n >= 8 {
			w = load64(b, i)
		} else {
			w, used = tail(b, n)
		}
		letter := letters(w)
		bad := w | ^(letter | digits(w)) | first&^letter
		if bad&tops&used != 0 {
			return false
		}
		first = 0
	}
	return true
}

// ValidBusName reports whether s is a unique or a well-known bus name: two or
// more elements of [A-Za-z0-9_-]+ with dots between them, at most MaxName
// bytes. Only in a unique name, which begins with a colon, may an element begin
// with a digit. Specification, "Bus names".
func ValidBusName(s string) bool {
	if len(s) > 0 && s[0] == ':' {
		return validUnique(s)
	}
	return ValidWellKnown(s)
}

// ValidWellKnown reports whether s is a well-known bus name: one that is asked
// for, and that a service file may have.
func ValidWellKnown(s string) bool { return validElements(s, true, 2) }

// validUnique reports whether s is a unique bus name, ":" in front included.
func validUnique(s string) bool {
	return len(s) > 0 && len(s) <= MaxName && s[0] == ':' && validElements(s[1:], false, 2)
}

// ValidNamespace reports whether s may be the value of arg0namespace in a match
// rule: like a well-known bus name, but one element is enough. Specification,
// "Match Rules".
func ValidNamespace(s string) bool { return validElements(s, true, 1) }

// validElements checks a bus name without its colon. strict is the rule of
// well-known names, that no element begins with a digit.
func validElements(s string, strict bool, least int) bool {
	if len(s) < 1 || len(s) > MaxName || s[len(s)-1] == '.' {
		return false
	}
	digitsFirst := ^uint64(0)
	if strict {
		digitsFirst = 0
	}
	first := uint64(0x80)
	dots := uint64(0)
	b := bytesOf(s)
	for i := 0; i < len(b); i += 8 {
		w, used := uint64(0), ^uint64(0)
		if n := len(b) - i; n >= 8 {
			w = load64(b, i)
		} else {
			w, used = tail(b, n)
		}
		dot, digit := equal(w, '.'), digits(w)
		start := letters(w) | equal(w, '-')
		bad := w | ^(start | digit | dot) | (dot<<8|first)&^(start|digit&digitsFirst)
		if bad&tops&used != 0 {
			return false
		}
		first = dot >> 56
		dots |= dot
	}
	return dots != 0 || least < 2
}
