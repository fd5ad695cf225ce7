package wire_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The naive codec is a second implementation of the format, from the
// specification alone and with no thought of speed: the tests compare the
// package with it. Values are byte, uint16, uint32, uint64, string, []any
// (array, struct, dict entry) and variant.

type variant struct {
	sig   string
	value any
}

type naive struct {
	b   []byte
	pos int
	big bool
}

// recovered turns the panic with which the naive codec gives up into an error.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case naiveError:
		*err = errors.New(string(r))
	default:
		panic(r)
	}
}

type naiveError string

func must(ok bool, format string, args ...any) {
	if !ok {
		panic(naiveError(fmt.Sprintf(format, args...)))
	}
}

func (n *naive) order() binary.ByteOrder {
	if n.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

var (
	pathPattern      = regexp.MustCompile(`^(/|(/[A-Za-z0-9_]+)+)$`)
	interfacePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$`)
	memberPattern    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	uniquePattern    = regexp.MustCompile(`^:[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)
	wellKnownPattern = regexp.MustCompile(`^[A-Za-z_-][A-Za-z0-9_-]*(\.[A-Za-z_-][A-Za-z0-9_-]*)+$`)
	namespacePattern = regexp.MustCompile(`^[A-Za-z_-][A-Za-z0-9_-]*(\.[A-Za-z_-][A-Za-z0-9_-]*)*$`)
)

// named reports whether s matches p, whole, and is no longer than names are.
func named(p *regexp.Regexp, s string) bool {
	return len(s) <= 255 && !strings.Contains(s, "\n") && p.MatchString(s)
}

func naivePath(s string) bool { return !strings.Contains(s, "\n") && pathPattern.MatchString(s) }

func naiveBusName(s string) bool { return named(uniquePattern, s) || named(wellKnownPattern, s) }

// oneType returns the first complete type of sig and the rest.
func oneType(sig string, arrays, structs int) (first, rest string) {
	must(sig != "", "signature ends")
	must(arrays <= 32 && structs <= 32, "signature nested too deeply")
	switch c := sig[0]; {
	case strings.IndexByte("ybnqiuxtdhsogv", c) >= 0:
		return sig[:1], sig[1:]
	case c == 'a' && strings.HasPrefix(sig[1:], "{"):
		must(arrays < 32, "signature nested too deeply")
		must(len(sig) > 2 && strings.IndexByte("ybnqiuxtdhsog", sig[2]) >= 0, "dict key")
		_, rest = oneType(sig[3:], arrays+1, structs)
		must(strings.HasPrefix(rest, "}"), "dict entry")
		rest = rest[1:]
	case c == 'a':
		_, rest = oneType(sig[1:], arrays+1, structs)
	case c == '(':
		_, rest = oneType(sig[1:], arrays, structs+1)
		for !strings.HasPrefix(rest, ")") {
			_, rest = oneType(rest, arrays, structs+1)
		}
		rest = rest[1:]
	default:
		must(false, "type code %q", c)
	}
	return sig[:len(sig)-len(rest)], rest
}

// types returns the complete types of sig.
func types(sig string) (all []string) {
	must(len(sig) <= 255, "long signature")
	for sig != "" {
		var first string
		first, sig = oneType(sig, 0, 0)
		all = append(all, first)
	}
	return all
}

func naiveSignature(sig string) (err error) {
	defer recovered(&err)
	types(sig)
	return nil
}

var naiveAligns = map[byte]int{
	'y': 1, 'g': 1, 'v': 1, 'n': 2, 'q': 2, 'b': 4, 'i': 4, 'u': 4, 'h': 4, 's': 4, 'o': 4, 'a': 4,
	'x': 8, 't': 8, 'd': 8, '(': 8, '{': 8,
}

func (n *naive) take(size, align int) []byte {
	for n.pos%align != 0 {
		must(n.pos < len(n.b), "ends in padding")
		must(n.b[n.pos] == 0, "padding not zero")
		n.pos++
	}
	must(size <= len(n.b)-n.pos, "ends in value")
	n.pos += size
	return n.b[n.pos-size : n.pos]
}

func (n *naive) text(size int) string {
	s := string(n.take(size, 1))
	must(n.take(1, 1)[0] == 0, "no NUL")
	return s
}

// read reads one value of a complete type that depth containers hold.
func (n *naive) read(sig string, depth int) any {
	must(depth < 64 || strings.IndexByte("v(a{", sig[0]) < 0, "nested too deeply")
	switch sig[0] {
	case 'y':
		return n.take(1, 1)[0]
	case 'n', 'q':
		return n.order().Uint16(n.take(2, 2))
	case 'i', 'u', 'h':
		return n.order().Uint32(n.take(4, 4))
	case 'b':
		v := n.order().Uint32(n.take(4, 4))
		must(v < 2, "boolean")
		return v
	case 'x', 't', 'd':
		return n.order().Uint64(n.take(8, 8))
	case 's', 'o':
		s := n.text(int(n.order().Uint32(n.take(4, 4))))
		must(utf8.ValidString(s) && !strings.Contains(s, "\x00"), "text")
		must(sig[0] == 's' || naivePath(s), "path")
		return s
	case 'g':
		s := n.text(int(n.take(1, 1)[0]))
		types(s)
		return s
	case 'v':
		s := n.read("g", depth).(string)
		must(len(types(s)) == 1, "variant of not one type")
		return variant{s, n.read(s, depth+1)}
	case 'a':
		size := int(n.order().Uint32(n.take(4, 4)))
		must(size <= 1<<26, "array size")
		n.take(0, naiveAligns[sig[1]])
		must(size <= len(n.b)-n.pos, "array ends behind message")
		in := naive{b: n.b[:n.pos+size], pos: n.pos, big: n.big}
		all := []any{}
		for in.pos < len(in.b) {
			all = append(all, in.read(sig[1:], depth+1))
		}
		n.pos = in.pos
		return all
	default: // ( {
		n.take(0, 8)
		all := []any{}
		for _, t := range types(sig[1 : len(sig)-1]) {
			all = append(all, n.read(t, depth+1))
		}
		return all
	}
}

// write appends a value as read returns it; alignment is relative to n.b.
func (n *naive) write(sig string, v any) {
	for len(n.b)%naiveAligns[sig[0]] != 0 {
		n.b = append(n.b, 0)
	}
	app := n.order().(binary.AppendByteOrder)
	switch v := v.(type) {
	case byte:
		n.b = append(n.b, v)
	case uint16:
		n.b = app.AppendUint16(n.b, v)
	case uint32:
		n.b = app.AppendUint32(n.b, v)
	case uint64:
		n.b = app.AppendUint64(n.b, v)
	case string:
		if sig[0] == 'g' {
			n.b = append(n.b, byte(len(v)))
		} else {
			n.b = app.AppendUint32(n.b, uint32(len(v)))
		}
		n.b = append(append(n.b, v...), 0)
	case variant:
		n.write("g", v.sig)
		n.write(v.sig, v.value)
	case []any:
		if sig[0] != 'a' {
			for i, t := range types(sig[1 : len(sig)-1]) {
				n.write(t, v[i])
			}
			return
		}
		at := len(n.b)
		n.b = append(n.b, 0, 0, 0, 0)
		for len(n.b)%naiveAligns[sig[1]] != 0 {
			n.b = append(n.b, 0)
		}
		from := len(n.b)
		for _, e := range v {
			n.write(sig[1:], e)
		}
		n.order().PutUint32(n.b[at:], uint32(len(n.b)-from))
	default:
		panic(fmt.Sprintf("write of %T", v))
	}
}

// readAll reads the values of sig, which must fill b.
func readAll(sig string, b []byte, big bool) (all []any, err error) {
	defer recovered(&err)
	n := naive{b: b, big: big}
	for _, t := range types(sig) {
		all = append(all, n.read(t, 0))
	}
	must(n.pos == len(b), "bytes left")
	return all, nil
}

// field is one header field.
type field struct {
	code  byte
	sig   string
	value any
}

// message is a message as the naive codec sees it.
type message struct {
	big         bool
	kind, flags byte
	serial      uint32
	fields      []field
	sig         string // of the body: write adds no field for it
	body        []any
	bodyLen     int // if there is no body
}

func (m *message) bytes() (header, body []byte) {
	n := naive{big: m.big}
	for i, t := range types(m.sig) {
		n.write(t, m.body[i])
	}
	if body = n.b; m.body != nil {
		m.bodyLen = len(body)
	}
	mark := byte('l')
	if m.big {
		mark = 'B'
	}
	var fields []any
	for _, f := range m.fields {
		fields = append(fields, []any{f.code, variant{f.sig, f.value}})
	}
	n.b = nil
	for i, v := range []any{mark, m.kind, m.flags, byte(1), uint32(m.bodyLen), m.serial, fields} {
		n.write(types("yyyyuua(yv)")[i], v)
	}
	for len(n.b)%8 != 0 {
		n.b = append(n.b, 0)
	}
	return n.b, body
}

// parseNaive reads a padded header.
func parseNaive(header []byte) (m message, err error) {
	defer recovered(&err)
	must(len(header) > 0 && (header[0] == 'l' || header[0] == 'B'), "byte order")
	m.big = header[0] == 'B'
	n := naive{b: header, big: m.big}
	var values []any
	for _, t := range types("yyyyuua(yv)") {
		values = append(values, n.read(t, 0))
	}
	must(len(n.take(0, 8)) == 0 && n.pos == len(header), "header length")
	m.kind, m.flags, m.serial = values[1].(byte), values[2].(byte), values[5].(uint32)
	m.bodyLen = int(values[4].(uint32))
	must(m.kind != 0 && values[3].(byte) == 1 && m.serial != 0, "fixed part")
	must(len(header)+m.bodyLen <= 1<<27, "message size")
	seen := map[byte]any{}
	for _, v := range values[6].([]any) {
		pair := v.([]any)
		f := field{pair[0].(byte), pair[1].(variant).sig, pair[1].(variant).value}
		m.fields = append(m.fields, f)
		must(f.code != 0, "field 0")
		if f.code > 9 {
			continue
		}
		must(seen[f.code] == nil, "field twice")
		seen[f.code] = f.value
		must(f.sig == " osssussgu"[f.code:f.code+1], "field type")
		switch s, _ := f.value.(string); f.code {
		case 1:
			must(s != "/org/freedesktop/DBus/Local", "local")
		case 2:
			must(named(interfacePattern, s) && s != "org.freedesktop.DBus.Local", "interface")
		case 3:
			must(named(memberPattern, s), "member")
		case 4:
			must(named(interfacePattern, s), "error name")
		case 5:
			must(f.value.(uint32) != 0, "reply serial")
		case 6, 7:
			must(naiveBusName(s), "bus name")
		case 8:
			m.sig = s
		}
	}
	for _, code := range map[byte][]byte{1: {1, 3}, 2: {5}, 3: {4, 5}, 4: {1, 2, 3}}[m.kind] {
		must(seen[code] != nil, "field missing")
	}
	return m, nil
}

// forwarded is the header that a bus should make of m.
func (m message) forwarded(sender string) []byte {
	var kept []field
	for _, f := range m.fields {
		if f.code <= 9 && f.code != 7 {
			kept = append(kept, f)
		}
	}
	if sender != "" {
		kept = append(kept, field{7, "s", sender})
	}
	m.fields, m.sig, m.body = kept, "", nil
	header, _ := m.bytes()
	return header
}
