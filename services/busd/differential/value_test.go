package differential_test

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// A value is one of any type: the numbers of fixed-size types in n, text in s,
// and the members of a container in in, which for a variant is the one value.
// This codec knows nothing of package wire, which would not see its own faults.
type value struct {
	sig string
	n   uint64
	s   string
	in  []value
}

func text(s string) value               { return value{sig: "s", s: s} }
func number(n uint32) value             { return value{sig: "u", n: uint64(n)} }
func variant(v value) value             { return value{sig: "v", in: []value{v}} }
func array(of string, v ...value) value { return value{sig: "a" + of, in: v} }

func texts(list ...string) value {
	v := array("s")
	for _, s := range list {
		v.in = append(v.in, text(s))
	}
	return v
}

func structure(members ...value) value {
	v := value{sig: "(", in: members}
	for _, m := range members {
		v.sig += m.sig
	}
	v.sig += ")"
	return v
}

func entry(key, of value) value {
	return value{sig: "{" + key.sig + of.sig + "}", in: []value{key, of}}
}

func signatureOf(values []value) string {
	s := ""
	for _, v := range values {
		s += v.sig
	}
	return s
}

// sizes are those of the types that have a fixed one, which is their alignment
// too; alignments are of the others.
var (
	sizes      = map[byte]int{'y': 1, 'b': 4, 'n': 2, 'q': 2, 'i': 4, 'u': 4, 'h': 4, 'x': 8, 't': 8, 'd': 8}
	alignments = map[byte]int{'s': 4, 'o': 4, 'g': 1, 'v': 1, 'a': 4, '(': 8, '{': 8}
)

func alignment(code byte) int { return max(sizes[code], alignments[code]) }

// firstType is the first complete type of a signature; "" when there is none.
func firstType(sig string) string {
	end, depth := 0, 0
	for end < len(sig) {
		switch c := sig[end]; {
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			depth--
		}
		end++
		if depth == 0 && sig[end-1] != 'a' {
			return sig[:end]
		}
	}
	return ""
}

func membersOf(sig string) (types []string) {
	for sig != "" {
		one := firstType(sig)
		if one == "" {
			return types
		}
		types = append(types, one)
		sig = sig[len(one):]
	}
	return types
}

// writer appends values in either byte order; alignment counts from the start.
type writer struct {
	b   []byte
	big bool
}

func (w *writer) order() binary.AppendByteOrder {
	if w.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (w *writer) align(n int) {
	for len(w.b)%n != 0 {
		w.b = append(w.b, 0)
	}
}

func (w *writer) uint32(n uint32) { w.align(4); w.b = w.order().AppendUint32(w.b, n) }

func (w *writer) setUint32(at int, n uint32) {
	copy(w.b[at:], w.order().AppendUint32(nil, n))
}

func (w *writer) put(v value) {
	switch code := v.sig[0]; code {
	case 's', 'o':
		w.uint32(uint32(len(v.s)))
		w.b = append(append(w.b, v.s...), 0)
	case 'g':
		w.b = append(append(append(w.b, byte(len(v.s))), v.s...), 0)
	case 'v':
		w.put(value{sig: "g", s: v.in[0].sig})
		w.put(v.in[0])
	case 'a':
		w.uint32(0)
		mark := len(w.b)
		w.align(alignment(v.sig[1]))
		from := len(w.b)
		for _, e := range v.in {
			w.put(e)
		}
		w.setUint32(mark-4, uint32(len(w.b)-from))
	case '(', '{':
		w.align(8)
		for _, m := range v.in {
			w.put(m)
		}
	default:
		w.align(sizes[code])
		full := w.order().AppendUint64(nil, v.n)
		if w.big {
			full = full[8-sizes[code]:]
		}
		w.b = append(w.b, full[:sizes[code]]...)
	}
}

// reader reads what a bus has sent. Bytes that are no values of the types asked
// for end in a panic, which is a finding.
type reader struct {
	b   []byte
	at  int
	big bool
}

func (r *reader) align(n int) {
	for r.at%n != 0 {
		if r.b[r.at] != 0 {
			panic("padding that is not zero")
		}
		r.at++
	}
}

func (r *reader) number(size int) (n uint64) {
	r.align(size)
	for i := range size {
		c := r.b[r.at+i]
		if r.big {
			n = n<<8 | uint64(c)
		} else {
			n |= uint64(c) << (8 * i)
		}
	}
	r.at += size
	return n
}

func (r *reader) text(n int) string {
	s := string(r.b[r.at : r.at+n])
	if r.b[r.at+n] != 0 {
		panic("text without its end")
	}
	r.at += n + 1
	return s
}

func (r *reader) get(sig string) value {
	v := value{sig: sig}
	switch code := sig[0]; code {
	case 's', 'o':
		v.s = r.text(int(r.number(4)))
	case 'g':
		v.s = r.text(int(r.number(1)))
	case 'v':
		v.in = []value{r.get(r.text(int(r.number(1))))}
	case 'a':
		n := int(r.number(4))
		r.align(alignment(sig[1]))
		for end := r.at + n; r.at < end; {
			v.in = append(v.in, r.get(sig[1:]))
		}
	case '(', '{':
		r.align(8)
		for _, one := range membersOf(sig[1 : len(sig)-1]) {
			v.in = append(v.in, r.get(one))
		}
	default:
		v.n = r.number(sizes[code])
	}
	return v
}

func (v value) String() string {
	switch v.sig[0] {
	case 's', 'o', 'g':
		return strconv.Quote(v.s)
	case 'v':
		return "<" + v.in[0].sig + " " + v.in[0].String() + ">"
	case 'a':
		return "[" + joined(v.in) + "]"
	case '(':
		return "(" + joined(v.in) + ")"
	case '{':
		return v.in[0].String() + ": " + v.in[1].String()
	}
	return fmt.Sprint(v.n)
}

func joined(values []value) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

// each calls f for v and all that is in it.
func (v *value) each(f func(*value)) {
	f(v)
	for i := range v.in {
		v.in[i].each(f)
	}
}
