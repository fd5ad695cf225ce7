package settings

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

const (
	pageWidth   = 100 // of the plain table, where names and defaults leave room
	meaningMin  = 40
	defaultsMax = 24 // a longer default has its line to itself
)

// Write prints the table of all variables of T, in the order of its fields:
// name, default and meaning, as a Markdown table or with aligned columns for a
// terminal. It fails if a variable has no doc tag, or w fails.
func Write[T any](w io.Writer, prefix string, markdown bool) error {
	var t T
	all := variables(reflect.ValueOf(&t).Elem(), prefix)
	for _, v := range all {
		if v.meaning() == "" {
			return fmt.Errorf("%s has no doc tag", v.name)
		}
	}
	table := plain(all)
	if markdown {
		table = markdownTable(all)
	}
	_, err := io.WriteString(w, table)
	return err
}

func (v *variable) meaning() string { return v.field.Tag.Get("doc") }

// initial is what stands in the column of defaults.
func (v *variable) initial() string {
	text, ok := v.field.Tag.Lookup("envDefault")
	switch {
	case ok && text != "":
		return text
	case v.hasOption("required") || v.hasOption("notEmpty"):
		return "required"
	}
	return "-"
}

func markdownTable(all []variable) string {
	var b strings.Builder
	b.WriteString("| Variable | Default | Meaning |\n| --- | --- | --- |\n")
	escape := strings.NewReplacer("|", `\|`, "\n", " ").Replace
	for _, v := range all {
		initial := v.initial()
		if initial != "-" && initial != "required" {
			initial = "`" + initial + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.name, escape(initial), escape(v.meaning()))
	}
	return b.String()
}

func plain(all []variable) string {
	names, defaults := len("NAME"), len("DEFAULT")
	for _, v := range all {
		names = max(names, len(v.name))
		if n := utf8.RuneCountInString(v.initial()); n <= defaultsMax {
			defaults = max(defaults, n)
		}
	}
	room := max(meaningMin, pageWidth-names-defaults-4)
	var b strings.Builder
	row := func(name, initial, meaning string) {
		line := fmt.Sprintf("%-*s  %-*s  %s", names, name, defaults, initial, meaning)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("NAME", "DEFAULT", "MEANING")
	for _, v := range all {
		name, initial := v.name, v.initial()
		if utf8.RuneCountInString(initial) > defaultsMax {
			row(name, initial, "")
			name, initial = "", ""
		}
		for _, line := range wrap(v.meaning(), room) {
			row(name, initial, line)
			name, initial = "", ""
		}
	}
	return b.String()
}

// wrap breaks text between words into lines of at most width runes; a longer
// word has a line to itself.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
