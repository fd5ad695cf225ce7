package match

import (
	"slices"
	"strings"

	"quartet/services/busd/internal/wire"
)

// probe is one message while it is looked for. It is kept in the index so that
// its slices are allocated once; all of them are filled at the first need.
type probe struct {
	m *Message

	names     []string // what the sender owns
	gotNames  bool
	args      []value // as many as any rule ever looked at
	from      wire.Args
	begun     bool // from is there
	read      int  // how many of args have been read from it
	hashed    shape
	hashes    [8]uint64   // of the single values, by bit of shape
	beginning [4][]uint64 // hashes of the several values, by bit of shape
}

// value is an argument of the body, kind 0 when there is none.
type value struct {
	kind byte
	text string
}

// looksAt makes room for the arguments that r looks at.
func (p *probe) looksAt(r *Rule) {
	for rest := r.args(); rest != ""; {
		var a argument
		a, rest = nextArg(rest)
		if missing := int(a.n) + 1 - len(p.args); missing > 0 {
			p.args = append(p.args, make([]value, missing)...)
		}
	}
}

func (p *probe) begin(m *Message) {
	p.m = m
	p.gotNames, p.begun, p.read, p.hashed = false, false, 0, 0
}

// end lets go of the message: its strings may be views into a big buffer.
func (p *probe) end() {
	clear(p.args[:p.read])
	p.m, p.names, p.from, p.read = nil, nil, wire.Args{}, 0
}

// arg returns an argument by number. It reads no further: there may be long
// arrays behind.
func (p *probe) arg(n int) value {
	if !p.begun {
		p.begun = true
		if p.m.Args != nil {
			p.from = p.m.Args()
		}
	}
	for ; p.read <= n; p.read++ {
		kind, text, _ := p.from.Next()
		p.args[p.read] = value{kind, text}
	}
	return p.args[n]
}

// senderNames returns the well-known names of the sender.
func (p *probe) senderNames() []string {
	if !p.gotNames {
		p.gotNames = true
		if p.m.SenderNames != nil {
			p.names = p.m.SenderNames()
		}
	}
	return p.names
}

func (p *probe) senderOwns(name string) bool {
	return wellKnown(name) && slices.Contains(p.senderNames(), name)
}

func (p *probe) destinationIs(name string) bool {
	switch {
	case p.m.Destination == "":
		return false
	case p.m.DestinationIs == nil:
		return p.m.Destination == name
	}
	return p.m.DestinationIs(name)
}

// key returns the key of a table without the one key of several values, false
// when the message lacks something that all rules of the shape want.
func (p *probe) key(h hasher, s shape) (key uint64, ok bool) {
	for i, by := 0, byInterface; by <= byArg3; i, by = i+1, by<<1 {
		if s&by == 0 {
			continue
		}
		if p.hashed&by == 0 {
			v, ok := p.single(by)
			if !ok {
				return 0, false
			}
			p.hashed |= by
			p.hashes[i] = h.of(v)
		}
		key = mix(key, p.hashes[i])
	}
	return key, true
}

// single returns the message's value for a key.
func (p *probe) single(by shape) (v string, ok bool) {
	switch by {
	case byInterface:
		v = p.m.Interface
	case byMember:
		v = p.m.Member
	case byPath:
		v = p.m.Path
	case bySender:
		v = p.m.Sender
	default:
		n := 0
		for ; by > byArg0; by >>= 1 {
			n++
		}
		a := p.arg(n)
		return a.text, a.kind == 's'
	}
	return v, v != ""
}

// values returns the hashes of all values that a rule of the shape may have in
// its key of several values.
func (p *probe) values(h hasher, s shape) []uint64 {
	by, i := byOwner, 0
	for s&by == 0 {
		by, i = by<<1, i+1
	}
	if p.hashed&by == 0 {
		p.hashed |= by
		p.beginning[i] = p.several(h, by, p.beginning[i][:0])
	}
	return p.beginning[i]
}

func (p *probe) several(h hasher, by shape, dst []uint64) []uint64 {
	switch by {
	case byOwner:
		for _, name := range p.senderNames() {
			dst = append(dst, h.of(name))
		}
		return dst
	case byNamespace:
		if p.m.Path == "" {
			return dst
		}
		dst = append(dst, h.of("/"))
		if p.m.Path == "/" {
			return dst
		}
		return h.beginnings(dst, p.m.Path, '/', 0)
	}
	a := p.arg(0)
	if by == byArg0Namespace {
		if a.kind != 's' {
			return dst
		}
		return h.beginnings(dst, a.text, '.', 0)
	}
	if a.kind != 's' && a.kind != 'o' {
		return dst
	}
	return h.beginnings(dst, a.text, '/', 1)
}

// beginnings appends the hash of s and of everything in front of a separator in
// it, keep bytes of the separator included; nothing longer than a rule can be.
func (h hasher) beginnings(dst []uint64, s string, sep byte, keep int) []uint64 {
	if len(s) <= MaxLength {
		dst = append(dst, h.of(s))
	}
	for i := 0; i < len(s) && i < MaxLength; {
		next := strings.IndexByte(s[i:], sep)
		if next < 0 {
			break
		}
		i += next + 1
		if end := i - 1 + keep; end > 0 && end < len(s) && end <= MaxLength {
			dst = append(dst, h.of(s[:end]))
		}
	}
	return dst
}

// arg0IsDirectory reports whether argument 0 ends in '/', for argNpath.
func (p *probe) arg0IsDirectory() bool {
	a := p.arg(0)
	return (a.kind == 's' || a.kind == 'o') && strings.HasSuffix(a.text, "/")
}
