package wire

import "math/bits"

// walk checks marshalled values. It is a value on the caller's stack.
type walk struct {
	b   []byte // alignment is relative to its beginning
	pos int
	big bool
	err *Error
}

// CheckBody checks that body, all of it, is a valid marshalling of the
// signature: lengths, padding, text, paths, signatures of variants, nesting.
// Specification, "Marshaling (Wire Format)". Arrays of numbers cost the same
// whatever their length. It fails with an *Error.
func (m *Message) CheckBody(body []byte) error {
	if len(body) != m.BodyLen {
		return refuse("body of %d bytes where the header announces %d", len(body), m.BodyLen)
	}
	if m.Signature == "" {
		if len(body) > 0 {
			return refuse("body of %d bytes without a signature", len(body))
		}
		return nil
	}
	w := walk{b: body, big: m.BigEndian}
	if !w.values(m.Signature, &m.ends, 0, len(m.Signature), 0) {
		return w.err
	}
	if w.pos != len(body) {
		return refuse("%d bytes behind the last argument", len(body)-w.pos)
	}
	return nil
}

// fail records the first violation and returns false for the caller to return.
//
//go:noinline
func (w *walk) fail(format string, args ...any) bool {
	if w.err == nil {
		w.err = refuse(format, args...)
	}
	return false
}

func (w *walk) short(code byte) bool {
	return w.fail("message ends within a value of type %c", code)
}

// values walks over the complete types sig[i:end], which depth containers hold.
func (w *walk) values(sig string, ends *typeEnds, i, end, depth int) bool {
	for i < end {
		code := sig[i]
		switch code {
		case 'v':
			if !w.variant(depth) {
				return false
			}
			i++
		case 'a':
			next := int(ends[i])
			if !w.array(sig, ends, i+1, next, depth) {
				return false
			}
			i = next
		case '(':
			next := int(ends[i])
			if depth >= maxTotalNesting {
				return w.tooDeep()
			}
			if !w.align8() || !w.values(sig, ends, i+1, next-1, depth+1) {
				return false
			}
			i = next
		default:
			if !w.basic(code) {
				return false
			}
			i++
		}
	}
	return true
}

func (w *walk) tooDeep() bool { return w.fail("more than %d nested containers", maxTotalNesting) }

// basic walks over one value of a basic type.
func (w *walk) basic(code byte) bool {
	switch code {
	case 's':
		s, ok := w.text(code)
		if !ok {
			return false
		}
		if !validText(s) {
			return w.fail("string that is not UTF-8 or holds a NUL")
		}
	case 'o':
		s, ok := w.text(code)
		if !ok {
			return false
		}
		if !ValidPath(s) {
			return w.fail("object path %.100q", s)
		}
	case 'u', 'i', 'h':
		if !w.align4() || len(w.b)-w.pos < 4 {
			return w.short(code)
		}
		w.pos += 4
	case 'b':
		if !w.align4() || len(w.b)-w.pos < 4 {
			return w.short(code)
		}
		if v := w.number(w.pos); v > 1 {
			return w.fail("boolean of value %d", v)
		}
		w.pos += 4
	case 'y':
		if w.pos >= len(w.b) {
			return w.short(code)
		}
		w.pos++
	case 'x', 't', 'd':
		if !w.align8() || len(w.b)-w.pos < 8 {
			return w.short(code)
		}
		w.pos += 8
	case 'n', 'q':
		if w.pos&1 != 0 {
			if w.pos >= len(w.b) {
				return w.short(code)
			}
			if w.b[w.pos] != 0 {
				return w.padding()
			}
			w.pos++
		}
		if len(w.b)-w.pos < 2 {
			return w.short(code)
		}
		w.pos += 2
	case 'g':
		return w.signatureValue()
	}
	return true
}

// signatureValue walks over one value of type g. It is apart from basic to keep
// the table off its stack frame.
func (w *walk) signatureValue() bool {
	s, ok := w.signature()
	if !ok {
		return false
	}
	var ends typeEnds
	if reason := checkSignature(s, &ends); reason != "" {
		return w.fail("%s", reason)
	}
	return true
}

// number loads the four bytes at i, which must be there.
func (w *walk) number(i int) uint32 {
	v := load32(w.b, i)
	if w.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

// align4 moves to the next multiple of 4, over padding that must be 0.
func (w *walk) align4() bool {
	p := w.pos
	if p&3 == 0 {
		return true
	}
	return w.alignTo((p + 3) &^ 3)
}

// align8 moves to the next multiple of 8, over padding that must be 0.
func (w *walk) align8() bool {
	p := w.pos
	if p&7 == 0 {
		return true
	}
	return w.alignTo((p + 7) &^ 7)
}

func (w *walk) alignTo(to int) bool {
	if to > len(w.b) {
		return w.fail("message ends within padding")
	}
	for _, c := range w.b[w.pos:to] {
		if c != 0 {
			return w.padding()
		}
	}
	w.pos = to
	return true
}

func (w *walk) padding() bool { return w.fail("padding that is not zero") }

// text walks over a string or object path and returns it unchecked.
func (w *walk) text(code byte) (s string, ok bool) {
	if !w.align4() || len(w.b)-w.pos < 5 {
		return "", w.short(code)
	}
	n := int(w.number(w.pos))
	from := w.pos + 4
	if n >= len(w.b)-from {
		return "", w.fail("string of %d bytes beyond the end of the message", n)
	}
	if w.b[from+n] != 0 {
		return "", w.fail("string without a NUL behind it")
	}
	w.pos = from + n + 1
	return view(w.b, from, from+n), true
}

// signature walks over a signature and returns it unchecked.
func (w *walk) signature() (s string, ok bool) {
	if len(w.b)-w.pos < 2 {
		return "", w.short('g')
	}
	n := int(w.b[w.pos])
	from := w.pos + 1
	if n >= len(w.b)-from {
		return "", w.fail("signature of %d bytes beyond the end of the message", n)
	}
	if w.b[from+n] != 0 {
		return "", w.fail("signature without a NUL behind it")
	}
	w.pos = from + n + 1
	return view(w.b, from, from+n), true
}

// variant walks over a variant that depth containers hold.
func (w *walk) variant(depth int) bool {
	if depth >= maxTotalNesting {
		return w.tooDeep()
	}
	// Most variants hold one basic value: length 1, its code, a NUL.
	if p := w.pos; len(w.b)-p >= 3 && w.b[p] == 1 && w.b[p+2] == 0 {
		if code := w.b[p+1]; kinds[code]&kindBasic != 0 {
			w.pos = p + 3
			return w.basic(code)
		}
	}
	return w.anyVariant(depth)
}

func (w *walk) anyVariant(depth int) bool {
	sig, ok := w.signature()
	if !ok {
		return false
	}
	var ends typeEnds
	if reason := checkSignature(sig, &ends); reason != "" {
		return w.fail("variant: %s", reason)
	}
	if !singleType(sig, &ends) {
		return w.fail("variant of signature %q, which is not one complete type", sig)
	}
	return w.values(sig, &ends, 0, len(sig), depth+1)
}

// array walks over an array of sig[i:end], one complete type, that depth
// containers hold.
func (w *walk) array(sig string, ends *typeEnds, i, end, depth int) bool {
	if depth >= maxTotalNesting {
		return w.tooDeep()
	}
	if !w.align4() || len(w.b)-w.pos < 4 {
		return w.short('a')
	}
	n := int(w.number(w.pos))
	w.pos += 4
	code := sig[i]
	if n > MaxArray {
		return w.fail("array of %d bytes", n)
	}
	if aligns[code] == 8 && !w.align8() {
		return false
	}
	if n > len(w.b)-w.pos {
		return w.fail("array of %d bytes beyond the end of the message", n)
	}
	stop := w.pos + n
	if kinds[code] == kindFixed {
		if n&(int(aligns[code])-1) != 0 {
			return w.fail("array of %d bytes of %c", n, code)
		}
		if code == 'b' {
			return w.booleans(stop)
		}
		w.pos = stop
		return true
	}
	// The elements see nothing behind the array.
	all := w.b
	w.b = all[:stop]
	switch code {
	case '{', '(':
		if depth+1 >= maxTotalNesting && n > 0 { // an empty array holds no entry
			return w.tooDeep()
		}
		for w.pos < stop {
			if !w.align8() || !w.values(sig, ends, i+1, end-1, depth+2) {
				return false
			}
		}
	case 's':
		for w.pos < stop {
			if !w.basic('s') {
				return false
			}
		}
	default:
		for w.pos < stop {
			if !w.values(sig, ends, i, end, depth+1) {
				return false
			}
		}
	}
	w.b = all
	return true
}

// booleans walks over booleans up to stop, a multiple of 4 bytes away.
func (w *walk) booleans(stop int) bool {
	for ; w.pos < stop; w.pos += 4 {
		if v := w.number(w.pos); v > 1 {
			return w.fail("boolean of value %d", v)
		}
	}
	return true
}
