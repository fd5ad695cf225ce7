package commandfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// reader reads one file.
type reader struct {
	lines  *lines
	faults Faults
}

// table is a table of the file. Its methods take fields out of it; a field that
// is not there gives the zero value, one that is wrong a fault and the zero value.
type table struct {
	r      *reader
	path   string // for the line
	label  string // for people
	values map[string]any
	known  []string // fields that were asked for
}

// fault notes that a field, or with "" the table itself, is wrong.
func (t *table) fault(field, format string, args ...any) {
	t.r.faults = append(t.r.faults, Fault{
		Line: t.r.lines.find(join(t.path, field)),
		At:   strings.Trim(t.label+": "+field, ": "),
		What: fmt.Sprintf(format, args...),
	})
}

// take returns a field.
func (t *table) take(field string) (any, bool) {
	t.known = append(t.known, field)
	v, ok := t.values[field]
	return v, ok
}

// has reports whether a field is there.
func (t *table) has(field string) bool { _, ok := t.values[field]; return ok }

// done notes the fields that nobody asked for.
func (t *table) done() {
	for _, field := range slices.Sorted(maps.Keys(t.values)) {
		if !slices.Contains(t.known, field) {
			t.fault(short(field), "there is no such field here; there are %s", strings.Join(slices.Sorted(slices.Values(t.known)), ", "))
		}
	}
}

// text takes a text of at most limit bytes.
func (t *table) text(field string, limit int) string {
	v, ok := t.take(field)
	if !ok {
		return ""
	}
	s, ok := t.asText(field, v, limit)
	if ok && strings.TrimSpace(s) == "" {
		t.fault(field, "is empty")
	}
	return s
}

func (t *table) asText(field string, v any, limit int) (string, bool) {
	s, ok := v.(string)
	switch {
	case !ok:
		t.fault(field, "is %s, a text is wanted", kind(v))
	case len(s) > limit:
		t.fault(field, "has %d bytes, %d is the most", len(s), limit)
	case strings.ContainsRune(s, 0) || !utf8.ValidString(s):
		t.fault(field, "has a NUL in it, or is not UTF-8")
	default:
		return s, true
	}
	return "", false
}

// texts takes an array of texts.
func (t *table) texts(field string, most, limit int) []string {
	var all []string
	for i, v := range t.array(field, most) {
		if s, ok := t.asText(join(field, strconv.Itoa(i)), v, limit); ok {
			all = append(all, s)
		}
	}
	return all
}

// array takes an array of at most so many values.
func (t *table) array(field string, most int) []any {
	v, ok := t.take(field)
	if !ok {
		return nil
	}
	all, ok := v.([]any)
	switch {
	case !ok:
		t.fault(field, "is %s, an array [ ] is wanted", kind(v))
		return nil
	case len(all) > most:
		t.fault(field, "has %d entries, %d is the most", len(all), most)
		return nil
	}
	return all
}

// tables takes an array of tables.
func (t *table) tables(field string, most int) []*table {
	var all []*table
	for i, v := range t.array(field, most) {
		path := join(field, strconv.Itoa(i))
		values, ok := v.(map[string]any)
		if !ok {
			t.fault(path, "is %s, a table is wanted", kind(v))
			continue
		}
		all = append(all, t.sub(path, values))
	}
	return all
}

// table takes a table; nil when there is none.
func (t *table) table(field string) *table {
	v, ok := t.take(field)
	if !ok {
		return nil
	}
	values, ok := v.(map[string]any)
	if !ok {
		t.fault(field, "is %s, a table is wanted", kind(v))
		return nil
	}
	return t.sub(field, values)
}

func (t *table) sub(path string, values map[string]any) *table {
	return &table{r: t.r, path: join(t.path, path), label: strings.Trim(t.label+": "+path, ": "), values: values}
}

// flag takes true or false.
func (t *table) flag(field string) bool {
	v, ok := t.take(field)
	b, is := v.(bool)
	if ok && !is {
		t.fault(field, "is %s, true or false is wanted", kind(v))
	}
	return b
}

// number takes a whole number.
func (t *table) number(field string) int64 {
	v, ok := t.take(field)
	n, is := v.(int64)
	if ok && !is {
		t.fault(field, "is %s, a whole number is wanted", kind(v))
	}
	return n
}

// word takes one of several words; the first is meant when there is none.
func (t *table) word(field string, words ...string) string {
	v, ok := t.take(field)
	if !ok {
		return words[0]
	}
	if s, ok := v.(string); ok && slices.Contains(words, s) {
		return s
	}
	t.fault(field, "must be one of %s", strings.Join(words, ", "))
	return words[0]
}

// duration takes a time, as "1m30s" or in seconds; 0 when there is none.
func (t *table) duration(field string, least, most time.Duration) time.Duration {
	v, ok := t.take(field)
	if !ok {
		return 0
	}
	return t.asDuration(field, v, least, most)
}

func (t *table) asDuration(field string, v any, least, most time.Duration) time.Duration {
	var d time.Duration
	var err error
	switch v := v.(type) {
	case string:
		d, err = time.ParseDuration(v)
	case int64:
		d = time.Duration(min(max(v, -1), int64(most/time.Second)+1)) * time.Second
	default:
		err = strconv.ErrSyntax
	}
	switch {
	case err != nil:
		t.fault(field, `is no time, as "5s", "1m30s" or a number of seconds`)
	case d < least || d > most:
		t.fault(field, "must be between %v and %v", least, most)
	default:
		return d
	}
	return 0
}

// kind says what a value is.
func kind(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case int64, float64:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

// short bounds what is shown of a name in the file.
func short(s string) string { return fmt.Sprintf("%.50s", strings.ToValidUTF8(s, "?")) }
