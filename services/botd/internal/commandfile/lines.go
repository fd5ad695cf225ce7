package commandfile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// lines knows on which line each field stands. A field's path has the names and
// the places in arrays that lead to it, as command.2.http.url; a name with a dot
// in it may be mistaken for another, which costs a wrong line.
//
// The parser under it may change with any version of the library. Nothing but
// the numbers in faults hangs on it.
type lines struct {
	starts []int          // where each line begins
	at     map[string]int // by path
	arrays map[string]int // by path: how many tables an array has so far
}

// maxDepth is how deep values are looked into: no field of ours is deeper.
const maxDepth = 4

// index goes through a file that is known to be TOML.
func index(data []byte) *lines {
	l := &lines{starts: []int{0}, at: make(map[string]int), arrays: make(map[string]int)}
	for i, c := range data {
		if c == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			table = l.key("", e.Key(), true)
		case unstable.ArrayTable:
			array := l.key("", e.Key(), false)
			table = join(array, strconv.Itoa(l.arrays[array]))
			l.arrays[array]++
			l.note(table, first(e.Key()))
		case unstable.KeyValue:
			l.value(l.key(table, e.Key(), true), e.Value(), maxDepth)
		}
	}
	return l
}

// value notes what is inside a value.
func (l *lines) value(path string, v *unstable.Node, depth int) {
	if depth == 0 {
		return
	}
	n := 0
	for children := v.Children(); children.Next(); n++ {
		switch c := children.Node(); {
		case v.Kind == unstable.Array:
			l.note(join(path, strconv.Itoa(n)), c.Raw)
			l.value(join(path, strconv.Itoa(n)), c, depth-1)
		case v.Kind == unstable.InlineTable && c.Kind == unstable.KeyValue:
			l.value(l.key(path, c.Key(), true), c.Value(), depth-1)
		}
	}
}

// key notes a key with its parts under a path, and returns where it leads: of an
// array of tables into the last one, at the key's end if enter says so.
func (l *lines) key(path string, parts unstable.Iterator, enter bool) string {
	for n := 0; n < maxDepth && parts.Next(); n++ {
		path = join(path, string(parts.Node().Data))
		l.note(path, parts.Node().Raw)
		if n := l.arrays[path]; n > 0 && (enter || !parts.IsLast()) {
			path = join(path, strconv.Itoa(n-1))
		}
	}
	return path
}

func first(parts unstable.Iterator) unstable.Range {
	parts.Next()
	return parts.Node().Raw
}

// note keeps the first line of a path.
func (l *lines) note(path string, raw unstable.Range) {
	if _, known := l.at[path]; known || raw.Length == 0 {
		return
	}
	i, exact := slices.BinarySearch(l.starts, int(raw.Offset))
	if !exact {
		i--
	}
	l.at[path] = i + 1
}

// find is the line of a path, or of what it is in; 0 when none is known.
func (l *lines) find(path string) int {
	for path != "" {
		if line, ok := l.at[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return 0
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
