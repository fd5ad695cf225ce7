package envelope

import (
	"strconv"
	"strings"
)

// maxDepth is how deep objects and lists may lie in one another.
const maxDepth = 1000

// scanner walks over JSON once and checks every byte of it, also of what is
// passed over. It allocates nothing. After a fault nothing more is read: each
// of its methods does nothing, and whoever uses them asks once, at the end.
type scanner struct {
	b     []byte
	at    int
	fault int // where the first fault is, and 1; 0 while there is none
}

// fail stops the walk.
func (s *scanner) fail() {
	if s.fault == 0 {
		s.fault = s.at + 1
	}
	s.at = len(s.b)
}

// next is the byte behind white space, 0 at the end.
func (s *scanner) next() byte {
	for s.at < len(s.b) {
		switch c := s.b[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// open enters an object or a list; false when there is nothing in it. The
// bracket that closes one stands two places behind the one that opens it.
func (s *scanner) open(bracket byte) bool {
	if s.next() != bracket {
		s.fail()
		return false
	}
	s.at++
	if s.next() != bracket+2 {
		return true
	}
	s.at++
	return false
}

// more goes on to the next member; false behind the last one.
func (s *scanner) more(bracket byte) bool {
	switch s.next() {
	case ',':
		s.at++
		return true
	case bracket + 2:
		s.at++
	default:
		s.fail()
	}
	return false
}

// name reads a member's name. One that is written with escapes is the only
// thing that costs an allocation.
func (s *scanner) name() []byte {
	name, escaped := s.quoted()
	if s.next() != ':' {
		s.fail()
		return nil
	}
	s.at++
	if escaped {
		var plain texts
		return []byte(plain.take(name))
	}
	return name
}

// null takes a null, and reports whether there was one.
func (s *scanner) null() bool {
	if s.next() != 'n' {
		return false
	}
	s.word("null")
	return true
}

func (s *scanner) word(w string) {
	if end := s.at + len(w); end <= len(s.b) && string(s.b[s.at:end]) == w {
		s.at = end
		return
	}
	s.fail()
}

// text reads a string, as it is written, or null.
func (s *scanner) text(to *[]byte) {
	*to = nil
	if !s.null() {
		*to, _ = s.quoted()
	}
}

// integer reads a whole number or null.
func (s *scanner) integer(to *int64) {
	*to = 0
	if s.null() {
		return
	}
	start := s.at
	s.number()
	n, err := strconv.ParseInt(string(s.b[start:s.at]), 10, 64)
	if err != nil {
		s.fail()
		return
	}
	*to = n
}

// object takes an object or null without looking into it, and reports which.
func (s *scanner) object() (there bool) {
	if s.null() {
		return false
	}
	if s.next() != '{' {
		s.fail()
		return false
	}
	s.skip(0)
	return true
}

// skip passes over a value of any kind.
func (s *scanner) skip(depth int) {
	if depth > maxDepth {
		s.fail()
		return
	}
	switch s.next() {
	case '"':
		s.quoted()
	case '{':
		for more := s.open('{'); more; more = s.more('{') {
			s.quoted()
			if s.next() != ':' {
				s.fail()
				return
			}
			s.at++
			s.skip(depth + 1)
		}
	case '[':
		for more := s.open('['); more; more = s.more('[') {
			s.skip(depth + 1)
		}
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
}

// number passes over a number.
func (s *scanner) number() {
	s.byte("-")
	if !s.byte("0") {
		s.digits()
	}
	if s.byte(".") {
		s.digits()
	}
	if s.byte("eE") {
		s.byte("+-")
		s.digits()
	}
}

// byte takes the next byte if it is one of set.
func (s *scanner) byte(set string) bool {
	if s.at < len(s.b) && strings.IndexByte(set, s.b[s.at]) >= 0 {
		s.at++
		return true
	}
	return false
}

// digits takes at least one digit.
func (s *scanner) digits() {
	start := s.at
	for s.at < len(s.b) && '0' <= s.b[s.at] && s.b[s.at] <= '9' {
		s.at++
	}
	if s.at == start {
		s.fail()
	}
}
