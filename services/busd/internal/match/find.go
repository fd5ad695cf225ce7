package match

// Find calls visit for every holding of a rule that m matches, in no order. An
// owner whose rules match several times may be visited several times.
//
// It allocates nothing, and must not be called from visit.
func (x *Index[O]) Find(m *Message, visit func(owner O)) {
	tables := x.all
	if m.Destination != "" {
		tables = x.eavesdroppers
	}
	if len(tables) == 0 {
		return
	}
	p := &x.probe
	p.begin(m)
	for _, t := range tables {
		x.ask(t, visit)
	}
	p.end()
}

// ask visits what matches in one table.
func (x *Index[O]) ask(t *table[O], visit func(O)) {
	p := &x.probe
	key, ok := p.key(x.hash, t.shape)
	if !ok {
		return
	}
	switch t.shape & severalValues {
	case 0:
		x.walk(t.first[key], visit)
	case byArg0Path:
		if p.arg0IsDirectory() {
			// It also matches every longer value that begins so, which no
			// beginning of it leads to.
			for _, n := range t.first {
				x.walk(n, visit)
			}
			return
		}
		fallthrough
	default:
		for _, value := range p.values(x.hash, t.shape) {
			x.walk(t.first[mix(key, value)], visit)
		}
	}
}

// walk visits what matches in a list of nodes.
func (x *Index[O]) walk(n *node[O], visit func(O)) {
	for ; n != nil; n = n.next {
		if !n.rule.matches(&x.probe) {
			continue
		}
		for _, h := range n.holdings {
			visit(h.owner)
		}
	}
}

// matches compares everything that the rule has with the message. Whether the
// message may be eavesdropped on was decided by the choice of tables.
func (r *Rule) matches(p *probe) bool {
	m := p.m
	if r.kind != 0 && r.kind != m.Type {
		return false
	}
	if v := r.field(fieldInterface); v != "" && v != m.Interface {
		return false
	}
	if v := r.field(fieldMember); v != "" && v != m.Member {
		return false
	}
	if v := r.field(fieldPath); v != "" && v != m.Path &&
		!(r.namespace && below(m.Path, v, '/')) {
		return false
	}
	if v := r.field(fieldSender); v != "" && v != m.Sender && !p.senderOwns(v) {
		return false
	}
	if v := r.field(fieldDestination); v != "" && !p.destinationIs(v) {
		return false
	}
	for rest := r.args(); rest != ""; {
		var a argument
		a, rest = nextArg(rest)
		if !a.matches(p.arg(int(a.n))) {
			return false
		}
	}
	return true
}

// matches compares an expectation with the argument at its place.
func (a *argument) matches(got value) bool {
	switch a.kind {
	case argPath:
		if got.kind != 's' && got.kind != 'o' {
			return false
		}
		return a.value == got.text || startsWithDirectory(a.value, got.text) || startsWithDirectory(got.text, a.value)
	case argNamespace:
		return got.kind == 's' && (a.value == got.text || below(got.text, a.value, '.'))
	}
	return got.kind == 's' && a.value == got.text
}

// below reports whether s is prefix, sep and more. The path "/" has everything
// below it, an absent one apart.
func below(s, prefix string, sep byte) bool {
	if prefix == "/" && sep == '/' {
		return s != ""
	}
	return len(s) > len(prefix) && s[len(prefix)] == sep && s[:len(prefix)] == prefix
}

// startsWithDirectory reports whether s begins with dir and dir ends in '/'.
func startsWithDirectory(s, dir string) bool {
	return dir != "" && dir[len(dir)-1] == '/' && len(s) > len(dir) && s[:len(dir)] == dir
}
