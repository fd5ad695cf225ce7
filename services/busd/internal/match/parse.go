package match

import (
	"math"
	"slices"
	"strings"

	"quartet/services/busd/internal/wire"
)

// maxItems is how many key-value pairs of a rule count. dbus-daemon drops the
// rest without a word, and clients cannot tell, so it is done here too.
const maxItems = 16

// Parse reads a rule; errors are *Error. Specification, "Match Rules", read the
// way dbus-daemon reads it:
//
//   - Blanks may stand before a key and between it and its '=', not behind: what
//     follows '=' is the value.
//   - Parts of a value may be quoted; a backslash escapes an apostrophe, only
//     outside quotes, and is otherwise itself.
//   - One trailing comma is fine. A key that is empty, as in ='x', ends the rule
//     without an error and what was read before it counts.
//   - Numbers of arguments are C's: arg007 and arg0x7 are arg7.
//   - eavesdrop may be repeated, the last one counts; no other key may.
//
// The result does not refer to text.
func Parse(text string) (Rule, error) {
	if len(text) > MaxLength {
		return Rule{}, &Error{
			Name:    LimitsExceeded,
			Message: "match rule is too long: at most 1024 bytes are allowed",
		}
	}
	return parse(text)
}

// parse is Parse for texts of any length up to 64 KiB.
func parse(text string) (Rule, error) {
	var found [maxItems]item
	items := found[:0]
	// All items are cut before the first is looked at: where two things are
	// wrong, the quotes are what the client hears of.
	for rest := text; rest != "" && len(items) < maxItems; {
		var it item
		var err *Error
		it, rest, err = cutItem(rest)
		if err != nil {
			return Rule{}, err
		}
		if it.key == "" {
			break
		}
		items = append(items, it)
	}
	var d draft
	for _, it := range items {
		if err := d.set(it.key, it.value); err != nil {
			return Rule{}, err
		}
	}
	return d.rule(), nil
}

// item is one key='value' of a rule, unquoted.
type item struct{ key, value string }

const blanks = " \t\n\r"

// cutItem takes the first item off text. An empty key means that there are no
// more.
func cutItem(text string) (it item, rest string, err *Error) {
	text = strings.TrimLeft(text, blanks)
	end := strings.IndexAny(text, blanks+"=")
	if end < 0 {
		end = len(text)
	}
	it.key = text[:end]
	if it.key == "" {
		return item{}, "", nil
	}
	text = strings.TrimLeft(text[end:], blanks)
	if text == "" || text[0] != '=' {
		return item{}, "", invalid("key %q in match rule is not followed by '='", it.key)
	}
	it.value, rest, err = cutValue(text[1:])
	return it, rest, err
}

// cutValue reads the value at the beginning of text up to and without its comma.
func cutValue(text string) (value, rest string, err *Error) {
	if plain := strings.IndexAny(text, `',\`); plain < 0 || text[plain] == ',' {
		value, rest, _ = strings.Cut(text, ",")
		return value, rest, nil
	}
	if text[0] == '\'' {
		// Nearly every value is one pair of quotes.
		value, rest, closed := strings.Cut(text[1:], "'")
		if closed && rest == "" {
			return value, "", nil
		}
		if closed && rest[0] == ',' {
			return value, rest[1:], nil
		}
	}
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
			b.WriteByte(c)
		case c == ',':
			return b.String(), text[i+1:], nil
		case c == '\\' && i+1 < len(text):
			// The next byte stands for itself, even when it is a comma, and
			// only in front of an apostrophe the backslash goes.
			i++
			if text[i] != '\'' {
				b.WriteByte('\\')
			}
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return "", "", invalid("match rule has an apostrophe without its partner")
	}
	return b.String(), "", nil
}

// draft is a rule while its items come in.
type draft struct {
	kind      wire.Type
	eavesdrop bool
	namespace bool
	values    [fields]string
	args      []argument // by number
}

// set takes one item.
func (d *draft) set(key, value string) *Error {
	switch key {
	case "type":
		return d.setType(value)
	case "sender":
		return d.setField(fieldSender, key, value, validName(value, 2))
	case "interface":
		return d.setField(fieldInterface, key, value, wire.ValidInterface(value))
	case "member":
		return d.setField(fieldMember, key, value, wire.ValidMember(value))
	case "path", "path_namespace":
		d.namespace = d.namespace || key == "path_namespace"
		return d.setField(fieldPath, key, value, wire.ValidPath(value))
	case "destination":
		return d.setField(fieldDestination, key, value, validName(value, 2))
	case "eavesdrop":
		if value != "true" && value != "false" {
			return invalid("eavesdrop='%s' in match rule should be 'true' or 'false'", value)
		}
		d.eavesdrop = value == "true"
		return nil
	}
	if number, ok := strings.CutPrefix(key, "arg"); ok {
		return d.setArg(key, number, value)
	}
	return invalid("match rule has the unknown key %q", key)
}

func (d *draft) setType(value string) *Error {
	if d.kind != 0 {
		return invalid("match rule has the key type twice")
	}
	kind, known := wire.ParseType(value)
	if !known {
		return invalid("match rule has the unknown message type '%s'", value)
	}
	d.kind = kind
	return nil
}

func (d *draft) setField(field int, key, value string, valid bool) *Error {
	if d.values[field] != "" {
		return invalid("match rule has the key %s twice, or path beside path_namespace", key)
	}
	if !valid {
		return invalid("match rule has the invalid value %s='%s'", key, value)
	}
	d.values[field] = value
	return nil
}

// setArg takes an item whose key is "arg" and number, the latter with a suffix.
func (d *draft) setArg(key, number, value string) *Error {
	n, suffix, ok := cutNumber(number)
	if !ok {
		return invalid("key %q in match rule lacks the number of an argument, as in arg0", key)
	}
	a := argument{value: value}
	switch {
	case suffix == "":
	case suffix == "path":
		a.kind = argPath
	case number == "0namespace":
		a.kind = argNamespace
		if !validName(value, 1) {
			return invalid("arg0namespace='%s' in match rule is no prefix of a bus name", value)
		}
	default:
		return invalid("key %q in match rule is neither argN nor argNpath nor arg0namespace", key)
	}
	if n > MaxArg {
		return invalid("key %q in match rule goes beyond arg%d, the last that can be matched", key, MaxArg)
	}
	a.n = uint8(n)
	at, twice := slices.BinarySearchFunc(d.args, a.n, func(a argument, n uint8) int { return int(a.n) - int(n) })
	if twice {
		return invalid("match rule looks at argument %d twice", n)
	}
	d.args = slices.Insert(d.args, at, a)
	return nil
}

// rule packs the draft.
func (d *draft) rule() Rule {
	r := Rule{Eavesdrop: d.eavesdrop, kind: d.kind, namespace: d.namespace}
	text := make([]byte, 0, 128)
	for i, v := range d.values {
		text = append(text, v...)
		r.ends[i] = uint16(len(text))
	}
	for _, a := range d.args {
		text = appendArg(text, a)
	}
	r.text = string(text)
	return r
}

// cutNumber reads a number as C's strtoul does with base 0: blanks in front, a
// sign, 0x for hexadecimal, 0 for octal. A negative number wraps around.
func cutNumber(s string) (n uint64, rest string, ok bool) {
	s = strings.TrimLeft(s, blanks+"\v\f")
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	base := uint64(10)
	if strings.HasPrefix(s, "0") {
		base = 8
		if len(s) > 2 && s[1]|0x20 == 'x' && digit(s[2]) < 16 {
			base, s = 16, s[2:]
		}
	}
	i := 0
	for ; i < len(s) && digit(s[i]) < base; i++ {
		d := digit(s[i])
		if n > (math.MaxUint64-d)/base {
			return 0, "", false
		}
		n = n*base + d
	}
	if negative {
		n = -n
	}
	return n, s[i:], i > 0
}

// digit returns the value of a hexadecimal digit, 16 for any other byte.
func digit(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 16
}

// validName reports whether s is a bus name with at least so many elements. In
// rules anything goes behind the colon of a unique name, one element too: such
// a rule never matches, but dbus-daemon takes it.
func validName(s string, elements int) bool {
	if s == "" || s[0] != ':' {
		return elements == 1 && wire.ValidNamespace(s) || wire.ValidBusName(s)
	}
	if len(s) > wire.MaxName || strings.HasSuffix(s, ".") || strings.Contains(s, "..") {
		return false
	}
	return strings.Trim(s[1:], "-._"+
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
