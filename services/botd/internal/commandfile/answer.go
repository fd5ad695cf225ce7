package commandfile

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The bounds of a program.
const (
	maxArgs = 64
	maxEnv  = 64
	maxPath = 4096 // bytes
)

// answers are the fields of which a command has one.
var answers = []string{"text", "choice", "http", "exec"}

// answer reads what a command answers.
func (t *table) answer(c *Command) {
	var given []string
	for _, field := range answers {
		if t.has(field) {
			given = append(given, field)
		}
	}
	if len(given) != 1 {
		t.fault("", "must have one of %s, and has %d", strings.Join(answers, ", "), len(given))
	}
	c.Text = strings.TrimRightFunc(t.text("text", MaxText), unicode.IsSpace)
	c.Choice = t.choice()
	if s := t.table("http"); s != nil {
		c.HTTP = s.http(c)
	}
	if s := t.table("exec"); s != nil {
		c.Exec = s.exec()
	}
}

// choice reads answers of which one is given: texts, or texts with weights.
func (t *table) choice() []Option {
	var all []Option
	for i, v := range t.array("choice", maxChoices) {
		field := join("choice", strconv.Itoa(i))
		o := Option{Weight: 1}
		if values, ok := v.(map[string]any); ok {
			s := t.sub(field, values)
			o.Text = s.text("text", MaxText)
			if w := s.number("weight"); s.has("weight") {
				o.Weight = int(min(max(w, 0), maxWeight+1))
			}
			s.done()
		} else {
			o.Text, _ = t.asText(field, v, MaxText)
		}
		if o.Text = strings.TrimRightFunc(o.Text, unicode.IsSpace); o.Text == "" {
			t.fault(field, "has no text")
		}
		if o.Weight < 1 || o.Weight > maxWeight {
			t.fault(field, "weight must be between 1 and %d", maxWeight)
		}
		all = append(all, o)
	}
	if t.has("choice") && len(all) == 0 {
		t.fault("choice", "has nothing to choose from")
	}
	return all
}

// envForm is how variables of the environment are called.
var envForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// exec reads a program.
func (t *table) exec() *Exec {
	e := &Exec{Run: t.texts("run", maxArgs, maxPath), Dir: "/"}
	if len(e.Run) == 0 || !path.IsAbs(e.Run[0]) {
		t.fault("run", `must begin with the whole path of a program, as ["/usr/local/bin/weather", "--short"]`)
	}
	if dir := t.text("dir", maxPath); dir != "" {
		if e.Dir = dir; !path.IsAbs(dir) {
			t.fault("dir", "must be a whole path")
		}
	}
	e.Env = t.settings("env", maxEnv, func(name string) string {
		if !envForm.MatchString(name) {
			return "is no name of a variable"
		}
		return ""
	})
	t.done()
	return e
}

// settings reads values under names: texts, or { file = "/path" }. check says
// what is wrong with a name. No value is ever shown: it may be a secret.
func (t *table) settings(field string, most int, check func(name string) string) []Setting {
	s := t.table(field)
	if s == nil {
		return nil
	}
	if len(s.values) > most {
		t.fault(field, "has %d entries, %d is the most", len(s.values), most)
		return nil
	}
	var all []Setting
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if wrong := check(name); wrong != "" {
			s.fault(short(name), "%s", wrong)
		}
		set := Setting{Name: name}
		if _, ok := s.values[name].(map[string]any); ok {
			of := s.table(name)
			if set.File = of.text("file", maxPath); !path.IsAbs(set.File) {
				of.fault("file", "must be the whole path of a file")
			}
			of.done()
		} else {
			v, _ := s.take(name)
			set.Value, _ = s.asText(short(name), v, maxPath)
			if strings.ContainsAny(set.Value, "\r\n") {
				s.fault(short(name), "must be one line")
			}
		}
		all = append(all, set)
	}
	return all
}
