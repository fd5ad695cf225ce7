package wire

import "math/bits"

// Decoder reads the values of a body, in either byte order, one after the
// other. The body must have been accepted by CheckBody, and the caller asks for
// the types of its signature; what was asked for wrongly gives zero values and
// an error that stays.
type Decoder struct {
	b    []byte
	pos  int
	big  bool
	err  *Error
	nest int // variants that Skip is within
}

// Decode returns a Decoder at the first argument of body.
func (m *Message) Decode(body []byte) Decoder { return Decoder{b: body, big: m.BigEndian} }

// Err returns the first error, an *Error, or nil.
func (d *Decoder) Err() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

// take moves over n bytes aligned to align and returns where they begin; ok is
// false when they are not there.
func (d *Decoder) take(n, align int) (at int, ok bool) {
	at = (d.pos + align - 1) &^ (align - 1)
	if d.err != nil || at > len(d.b) || n > len(d.b)-at {
		d.fail("read beyond the end of the body")
		return 0, false
	}
	d.pos = at + n
	return at, true
}

func (d *Decoder) fail(reason string) {
	if d.err == nil {
		d.err = &Error{reason}
	}
}

// Byte reads a y.
func (d *Decoder) Byte() byte {
	at, ok := d.take(1, 1)
	if !ok {
		return 0
	}
	return d.b[at]
}

// Uint32 reads a u, i or h.
func (d *Decoder) Uint32() uint32 {
	at, ok := d.take(4, 4)
	if !ok {
		return 0
	}
	v := load32(d.b, at)
	if d.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

// Bool reads a b.
func (d *Decoder) Bool() bool { return d.Uint32() != 0 }

// String reads an s or o. It is a view into the body.
func (d *Decoder) String() string { return d.bytes(int(d.Uint32())) }

// Signature reads a g. It is a view into the body.
func (d *Decoder) Signature() string { return d.bytes(int(d.Byte())) }

// bytes reads n bytes and the NUL behind them.
func (d *Decoder) bytes(n int) string {
	at, ok := d.take(n+1, 1)
	if !ok {
		return ""
	}
	return view(d.b, at, at+n)
}

// Array enters an array whose elements are aligned to elemAlign bytes (8 for
// structs and dict entries). Its elements are read while More(end).
func (d *Decoder) Array(elemAlign int) (end int) {
	n := int(d.Uint32())
	at, ok := d.take(0, elemAlign)
	if !ok {
		return 0
	}
	if n > len(d.b)-at {
		d.fail("array beyond the end of the body")
		return 0
	}
	return at + n
}

// More reports whether the array that ends at end has another element.
func (d *Decoder) More(end int) bool { return d.err == nil && d.pos < end }

// Struct enters a struct or dict entry; its members are read as usual, and
// nothing marks its end.
func (d *Decoder) Struct() { d.take(0, 8) }

// Variant enters a variant and returns the signature of its one value, which is
// read next.
func (d *Decoder) Variant() (signature string) { return d.Signature() }

// Skip moves over the values of a signature. Arrays cost the same whatever
// their length.
func (d *Decoder) Skip(signature string) {
	if d.nest++; d.nest > maxTotalNesting+1 {
		d.fail("nested too deeply")
	}
	for i := 0; i < len(signature) && d.err == nil; {
		i = d.skipType(signature, i)
	}
	d.nest--
}

// skipType moves over a value of the complete type that begins at i of
// signature, and returns where that ends.
func (d *Decoder) skipType(signature string, i int) (next int) {
	switch code := signature[i]; code {
	case 's', 'o':
		d.bytes(int(d.Uint32()))
	case 'g':
		d.bytes(int(d.Byte()))
	case 'v':
		d.Skip(d.Variant())
	case 'a':
		next = typeEnd(signature, i)
		if next == i+1 {
			d.fail("array of nothing")
			return next
		}
		if end := d.Array(max(1, int(aligns[signature[i+1]]))); d.err == nil {
			d.pos = end
		}
		return next
	case '(':
		d.Struct()
		for i++; i < len(signature) && signature[i] != ')'; {
			i = d.skipType(signature, i)
		}
	default:
		if kinds[code] != kindFixed {
			d.fail("skip of an unknown type code")
			break
		}
		d.take(int(aligns[code]), int(aligns[code]))
	}
	return i + 1
}
