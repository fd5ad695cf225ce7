package dash

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// ReadCatalogue reads a committed list: a name and a type on each line, with #
// before what is for people.
func ReadCatalogue(r io.Reader) (Catalogue, error) {
	c := Catalogue{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		switch len(words) {
		case 0:
		case 2:
			c[words[0]] = words[1]
		default:
			return nil, fmt.Errorf("read a catalogue: line %d is not a name and a type", n)
		}
	}
	return c, lines.Err()
}

// ReadExposition reads the types of what a service exports, from its /metrics.
func ReadExposition(r io.Reader) (Catalogue, error) {
	c := Catalogue{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) == 4 && words[0] == "#" && words[1] == "TYPE" {
			c[words[2]] = words[3]
		}
	}
	return c, lines.Err()
}

// Ours is what our own code exports, without what libraries add to it.
func (c Catalogue) Ours() Catalogue {
	ours := Catalogue{}
	for name, kind := range c {
		if strings.HasPrefix(name, "quartet_") {
			ours[name] = kind
		}
	}
	return ours
}

// Write writes the list, sorted.
func (c Catalogue) Write(w io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if _, err := fmt.Fprintf(w, "%s %s\n", name, c[name]); err != nil {
			return err
		}
	}
	return nil
}

// Lacks are the lines of other that c does not have, sorted.
func (c Catalogue) Lacks(other Catalogue) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if c[name] != other[name] {
			lines = append(lines, name+" "+other[name])
		}
	}
	return lines
}
