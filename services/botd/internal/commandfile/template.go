package commandfile

import (
	"errors"
	"fmt"
	"strings"
)

// Template is a text with placeholders: {name}. A brace itself is {{ or }}.
type Template []Part

// Part is a piece of a template, and the placeholder behind it.
type Part struct {
	Text string
	Name string // "" for none
}

// ParseTemplate reads a template. It has one part at least.
func ParseTemplate(source string) (Template, error) {
	var tpl Template
	var text strings.Builder
	for rest := source; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			text.WriteString(rest)
			break
		}
		text.WriteString(rest[:i])
		brace := rest[i]
		if rest = rest[i+1:]; rest != "" && rest[0] == brace {
			text.WriteByte(brace)
			rest = rest[1:]
			continue
		}
		name, after, found := strings.Cut(rest, "}")
		switch {
		case brace == '}':
			return nil, errors.New("a } without its {; a brace itself is }}")
		case !found:
			return nil, errors.New("a { without its }; a brace itself is {{")
		case name == "" || strings.ContainsAny(name, "{ \t\n"):
			return nil, fmt.Errorf("{%.50s} is no placeholder", name)
		}
		tpl = append(tpl, Part{text.String(), name})
		text.Reset()
		rest = after
	}
	if text.Len() > 0 || len(tpl) == 0 {
		tpl = append(tpl, Part{Text: text.String()})
	}
	return tpl, nil
}

// Names are the placeholders, in their order.
func (t Template) Names() []string {
	var names []string
	for _, p := range t {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// Fill gives each placeholder its value.
func (t Template) Fill(value func(name string) string) string {
	var out strings.Builder
	for _, p := range t {
		out.WriteString(p.Text)
		if p.Name != "" {
			out.WriteString(value(p.Name))
		}
	}
	return out.String()
}
