package match

import (
	"hash/maphash"
	"slices"
	"strings"
)

// Index holds the rules of all connections of a bus; O identifies a connection.
// The zero value is empty and ready. It is not safe for concurrent use, and
// nothing may be added or removed while Find runs.
//
// Rules are filed in hash tables, one for each shape (which keys the rule has),
// under a hash of the values of those keys. What a message costs depends on the
// number of shapes in use, a dozen on a desktop, not on the number of rules:
// rules on other paths, members, senders or names are never looked at. Equal
// rules of many connections share one node, which is compared once.
type Index[O comparable] struct {
	hash     hasher
	accounts map[O]*account[O]
	tables   map[shape]*table[O]
	total    int

	all           []*table[O] // for broadcasts
	eavesdroppers []*table[O] // for messages with a destination

	// mentions has, by unique name, the holdings whose rules have it as sender
	// or destination: Forget removes them.
	mentions map[string]*mention[O]

	probe probe
}

// account is what one connection has in the index. Its holdings lie under the
// hashes of their rules: the rules themselves as keys would take a sixth of the
// memory of the whole index.
type account[O comparable] struct {
	first map[uint64]*holding[O]
	count int // rules, repeated ones counted each
}

// find returns the holding of a rule, nil if there is none.
func (a *account[O]) find(hash uint64, r *Rule) *holding[O] {
	h := a.first[hash]
	for h != nil && h.node.rule != *r {
		h = h.same
	}
	return h
}

// remove removes a holding.
func (a *account[O]) remove(hash uint64, h *holding[O]) {
	head := a.first[hash]
	switch {
	case head != h:
		for head.same != h {
			head = head.same
		}
		head.same = h.same
	case h.same != nil:
		a.first[hash] = h.same
	default:
		delete(a.first, hash)
	}
}

// holding is a rule of a connection.
type holding[O comparable] struct {
	owner O
	node  *node[O]
	same  *holding[O] // another of the owner with the same hash
	times int32       // how often it was added; 0 when it is gone
	place int32       // its index in node.holdings
}

// node is a rule with everyone who holds it. Its neighbours in the list share
// its key, mostly because they differ in what no shape covers.
type node[O comparable] struct {
	rule       Rule
	key        uint64
	table      *table[O] // nil for a rule that can match nothing
	prev, next *node[O]
	holdings   []*holding[O]
}

// table has the nodes of one shape, by key.
type table[O comparable] struct {
	shape shape
	first map[uint64]*node[O]
}

// mention lists holdings; dead counts those that are gone, to be swept when
// they are the half.
type mention[O comparable] struct {
	holdings []*holding[O]
	dead     int
}

// sharing bounds how many nodes of one key Add compares in search of an equal
// one. Beyond it the rule gets a node of its own, which costs memory, not truth.
const sharing = 16

// Add adds a rule of owner. The same rule may be added several times, and has
// to be removed as often. Nothing bounds the number; see Count.
func (x *Index[O]) Add(owner O, r Rule) {
	if x.accounts == nil {
		x.hash.seed = maphash.MakeSeed()
		x.accounts = map[O]*account[O]{}
		x.tables = map[shape]*table[O]{}
		x.mentions = map[string]*mention[O]{}
	}
	a := x.accounts[owner]
	if a == nil {
		a = &account[O]{first: map[uint64]*holding[O]{}}
		x.accounts[owner] = a
	}
	a.count++
	x.total++
	hash := x.hash.rule(&r)
	if h := a.find(hash, &r); h != nil {
		h.times++
		return
	}
	n := x.node(r)
	h := &holding[O]{owner: owner, node: n, same: a.first[hash], times: 1, place: int32(len(n.holdings))}
	n.holdings = append(n.holdings, h)
	a.first[hash] = h
	x.mention(n.rule.field(fieldSender), h)
	x.mention(n.rule.field(fieldDestination), h)
}

// Remove removes one instance of a rule equal to r, and reports whether owner
// had one.
func (x *Index[O]) Remove(owner O, r Rule) bool {
	a := x.accounts[owner]
	if a == nil {
		return false
	}
	h := a.find(x.hash.rule(&r), &r)
	if h == nil {
		return false
	}
	if h.times > 1 {
		h.times--
		a.count--
		x.total--
		return true
	}
	x.drop(a, h)
	return true
}

// RemoveAll removes every rule of owner, in time proportional to their number.
func (x *Index[O]) RemoveAll(owner O) {
	if a := x.accounts[owner]; a != nil {
		for _, h := range a.first {
			for ; h != nil; h = h.same {
				x.drop(a, h)
			}
		}
	}
}

// Forget removes everybody's rules that name a connection as sender or
// destination by its unique name. A unique name is never used again, so once
// the connection is gone they only take room and quota; dbus-daemon drops them
// too, and RemoveMatch does not find them any more.
func (x *Index[O]) Forget(unique string) {
	m := x.mentions[unique]
	if m == nil {
		return
	}
	delete(x.mentions, unique)
	for _, h := range m.holdings {
		if h.times > 0 {
			x.drop(x.accounts[h.owner], h)
		}
	}
}

// Count returns how many rules owner has, repeated ones counted each.
func (x *Index[O]) Count(owner O) int {
	if a := x.accounts[owner]; a != nil {
		return a.count
	}
	return 0
}

// Eavesdrops says whether anybody has a rule that listens in on others.
func (x *Index[O]) Eavesdrops() bool { return len(x.eavesdroppers) > 0 }

// Len returns how many rules all have, repeated ones counted each.
func (x *Index[O]) Len() int { return x.total }

// Rules returns the rules of owner in the order of their canonical texts, a
// repeated one as often as it was added.
func (x *Index[O]) Rules(owner O) []Rule {
	a := x.accounts[owner]
	if a == nil {
		return nil
	}
	list := make([]Rule, 0, a.count)
	for _, h := range a.first {
		for ; h != nil; h = h.same {
			for range h.times {
				list = append(list, h.node.rule)
			}
		}
	}
	slices.SortFunc(list, func(a, b Rule) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// node returns a node for r: one that is there, or a new one that is filed.
func (x *Index[O]) node(r Rule) *node[O] {
	if !r.Eavesdrop && r.field(fieldDestination) != "" {
		// A broadcast has no destination, and other people's messages are not
		// for this rule: it is only kept to be counted and removed.
		return &node[O]{rule: r}
	}
	s, key := x.hash.filed(&r)
	t := x.tables[s]
	if t == nil {
		t = &table[O]{shape: s, first: map[uint64]*node[O]{}}
		x.tables[s] = t
		x.all = append(x.all, t)
		if s&eavesdropping != 0 {
			x.eavesdroppers = append(x.eavesdroppers, t)
		}
	}
	head := t.first[key]
	for n, looked := head, 0; n != nil && looked < sharing; n, looked = n.next, looked+1 {
		if n.rule == r {
			return n
		}
	}
	n := &node[O]{rule: r, key: key, table: t, next: head}
	if head != nil {
		head.prev = n
	}
	t.first[key] = n
	x.probe.looksAt(&r)
	return n
}

// mention notes that the rule of h names a connection, if name is unique.
func (x *Index[O]) mention(name string, h *holding[O]) {
	if !isUnique(name) {
		return
	}
	m := x.mentions[name]
	if m == nil {
		m = &mention[O]{}
		x.mentions[name] = m
	}
	m.holdings = append(m.holdings, h)
}

// drop removes h with all its instances.
func (x *Index[O]) drop(a *account[O], h *holding[O]) {
	n := h.node
	a.count -= int(h.times)
	x.total -= int(h.times)
	h.times = 0
	a.remove(x.hash.rule(&n.rule), h)
	if len(a.first) == 0 {
		delete(x.accounts, h.owner)
	}
	last := len(n.holdings) - 1
	n.holdings[h.place] = n.holdings[last]
	n.holdings[h.place].place = h.place
	n.holdings[last] = nil
	n.holdings = n.holdings[:last]
	if last == 0 {
		x.unfile(n)
	}
	x.unmention(n.rule.field(fieldSender))
	x.unmention(n.rule.field(fieldDestination))
}

// unfile takes a node that nobody holds out of its table, and drops a table
// that is empty: Find asks each one that is there.
func (x *Index[O]) unfile(n *node[O]) {
	t := n.table
	if t == nil {
		return
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	switch {
	case n.prev != nil:
		n.prev.next = n.next
	case n.next != nil:
		t.first[n.key] = n.next
	default:
		delete(t.first, n.key)
	}
	if len(t.first) == 0 {
		delete(x.tables, t.shape)
		is := func(other *table[O]) bool { return other == t }
		x.all = slices.DeleteFunc(x.all, is)
		x.eavesdroppers = slices.DeleteFunc(x.eavesdroppers, is)
	}
}

// unmention notes that one of the holdings of a mention is gone.
func (x *Index[O]) unmention(name string) {
	m := x.mentions[name]
	if m == nil {
		return
	}
	if m.dead++; m.dead*2 < len(m.holdings) {
		return
	}
	m.holdings = slices.DeleteFunc(m.holdings, func(h *holding[O]) bool { return h.times == 0 })
	if m.dead = 0; len(m.holdings) == 0 {
		delete(x.mentions, name)
	}
}
