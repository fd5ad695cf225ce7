// Package match parses match rules and finds, for a message, everyone whose
// rules it fits.
//
// Grammar and verdicts are those of dbus-daemon, odd corners included (parse.go
// names them): a program that gets its rule accepted there gets it accepted
// here. A Rule is a small comparable value; equality is equality of the parsed
// form, never of the text.
//
// Index is the heart. A message costs a handful of hash look-ups, one for each
// combination of keys that rules on the bus make use of, however many rules
// there are; see index.go. It allocates nothing while it searches.
//
// The package decides neither who may eavesdrop nor who gets a message twice:
// that is policy's and the bus's.
package match

import (
	"strconv"
	"strings"

	"quartet/services/busd/internal/wire"
)

// MaxLength is the longest text of a rule, in bytes.
const MaxLength = 1024

// MaxArg is the highest argument that a rule may look at.
const MaxArg = 63

// Rule is a parsed match rule. The zero value matches every broadcast. Rules
// can be compared with ==, which is equality in RemoveMatch's sense, and used as
// keys of maps.
type Rule struct {
	// Eavesdrop says that the rule also matches messages that have another
	// destination. A monitor's rules have it set whatever their text says.
	Eavesdrop bool

	kind      wire.Type // 0 is any
	namespace bool      // path is a path_namespace

	// text holds the values one behind the other, in the order of the field
	// constants, then the arguments (see appendArg). One string and a few
	// offsets are a third of what a string for each field takes.
	ends [fields]uint16
	text string
}

// The fields of Rule.text.
const (
	fieldSender = iota
	fieldInterface
	fieldMember
	fieldPath
	fieldDestination
	fields
)

// field returns the value of a field, "" when the rule lacks it: no field of a
// valid rule is empty.
func (r *Rule) field(i int) string {
	from := uint16(0)
	if i > 0 {
		from = r.ends[i-1]
	}
	return r.text[from:r.ends[i]]
}

// args returns the encoded arguments, for nextArg.
func (r *Rule) args() string { return r.text[r.ends[fields-1]:] }

// argKind says how an argument is compared.
type argKind uint8

const (
	argString    argKind = iota // argN
	argPath                     // argNpath
	argNamespace                // arg0namespace
)

// suffix is what follows the number in the key.
func (k argKind) suffix() string { return [...]string{"", "path", "namespace"}[k] }

// argument is one expectation of a rule about the message's body.
type argument struct {
	n     uint8
	kind  argKind
	value string
}

// appendArg encodes an argument: its number, its kind, the length of its value
// in two bytes, the value.
func appendArg(dst []byte, a argument) []byte {
	dst = append(dst, a.n, byte(a.kind), byte(len(a.value)>>8), byte(len(a.value)))
	return append(dst, a.value...)
}

// nextArg takes the first argument off what args returned; s is not empty.
func nextArg(s string) (a argument, rest string) {
	end := 4 + int(s[2])<<8 + int(s[3])
	return argument{n: s[0], kind: argKind(s[1]), value: s[4:end]}, s[end:]
}

// String returns the canonical text: every key once, in a fixed order, every
// value quoted. It parses to an equal rule unless apostrophes in values, which
// take four bytes each, make it longer than MaxLength.
func (r Rule) String() string {
	var b strings.Builder
	if r.kind != 0 {
		writeItem(&b, "type", r.kind.String())
	}
	path := "path"
	if r.namespace {
		path = "path_namespace"
	}
	for _, f := range [...]struct {
		field int
		key   string
	}{
		{fieldInterface, "interface"},
		{fieldMember, "member"},
		{fieldPath, path},
		{fieldSender, "sender"},
		{fieldDestination, "destination"},
	} {
		if v := r.field(f.field); v != "" {
			writeItem(&b, f.key, v)
		}
	}
	if r.Eavesdrop {
		writeItem(&b, "eavesdrop", "true")
	}
	for s := r.args(); s != ""; {
		var a argument
		a, s = nextArg(s)
		writeItem(&b, "arg"+strconv.Itoa(int(a.n))+a.kind.suffix(), a.value)
	}
	return b.String()
}

// writeItem appends key='value'. An apostrophe cannot be escaped within quotes,
// so each ends the quotes, stands escaped outside, and opens them again.
func writeItem(b *strings.Builder, key, value string) {
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	b.WriteString(key)
	b.WriteString("='")
	b.WriteString(strings.ReplaceAll(value, "'", `'\''`))
	b.WriteByte('\'')
}
