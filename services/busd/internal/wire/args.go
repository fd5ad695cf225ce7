package wire

// maxArgs is how many arguments match rules can name.
const maxArgs = 64

// Args iterates over the first 64 top-level arguments of a body that CheckBody
// has accepted: what match rules and policy may look at. Specification, "Match
// Rules".
type Args struct {
	values Decoder
	types  string // of the arguments left
	left   int
}

// Args returns the arguments of body.
func (m *Message) Args(body []byte) Args {
	return Args{values: m.Decode(body), types: m.Signature, left: maxArgs}
}

// Next returns the type code of the next argument, and its value if it is a
// string, object path or signature (s, o, g); other values are "". A container
// is one argument and is passed over. ok is false behind the last one.
func (a *Args) Next() (kind byte, value string, ok bool) {
	if a.types == "" || a.left == 0 {
		return 0, "", false
	}
	kind = a.types[0]
	end := 1
	switch kind {
	case 's', 'o':
		value = a.values.String()
	case 'g':
		value = a.values.Signature()
	default:
		end = typeEnd(a.types, 0)
		a.values.Skip(a.types[:end])
	}
	if a.values.err != nil {
		a.left = 0
		return 0, "", false
	}
	a.types, a.left = a.types[end:], a.left-1
	return kind, value, true
}
