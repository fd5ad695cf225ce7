package busconf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"quartet/services/busd/internal/policy"
)

// parser reads one file. It checks the elements against the grammar and leaves
// their meaning to their end functions.
type parser struct {
	loader *loader
	config *Config
	file   string
	open   []*element // outermost first
	rooted bool       // a root element has begun
}

// element is an element that has begun and not yet ended.
type element struct {
	name  string
	kind  *kind
	line  int
	attrs []policy.Attr
	text  strings.Builder
	// rules are what <policy> has collected so far.
	rules []policy.Rule
}

// attr is the value of an attribute and whether it was given.
func (e *element) attr(name string) (string, bool) {
	for _, a := range e.attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// content is the text of the element without the space around it.
func (e *element) content() string { return strings.TrimSpace(e.text.String()) }

func (p *parser) parse(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = latin1
	for {
		line, _ := d.InputPos()
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return p.malformed(d, err)
		}
		if err := p.token(token, line); err != nil {
			return p.at(line, err)
		}
	}
	if !p.rooted {
		return &Error{File: p.file, Err: errors.New("has no <busconfig> element")}
	}
	return nil
}

// token takes the next piece of the file, which begins at the line. Comments,
// the document type and processing instructions mean nothing.
func (p *parser) token(token xml.Token, line int) error {
	switch t := token.(type) {
	case xml.StartElement:
		return p.begin(t, line)
	case xml.EndElement:
		return p.end()
	case xml.CharData:
		return p.text(t)
	}
	return nil
}

func (p *parser) begin(t xml.StartElement, line int) error {
	e := &element{name: display(t.Name), line: line}
	parent := ""
	if len(p.open) > 0 {
		parent = p.open[len(p.open)-1].name
	} else if p.rooted {
		return fmt.Errorf("<%s> follows the end of <busconfig>: a file has one <busconfig>", e.name)
	}
	k, known := p.loader.grammar[e.name]
	switch {
	case !known:
		return fmt.Errorf("element <%s> is unknown", e.name)
	case k.parent != parent && parent == "":
		return fmt.Errorf("<%s> stands outside <busconfig>", e.name)
	case k.parent != parent:
		return fmt.Errorf("<%s> cannot stand in <%s>", e.name, parent)
	}
	e.kind = k
	for _, a := range t.Attr {
		name := display(a.Name)
		if _, twice := e.attr(name); twice {
			return fmt.Errorf("<%s>: attribute %q is given twice", e.name, name)
		}
		if !k.rule && !slices.Contains(k.attrs, name) {
			return fmt.Errorf("<%s>: attribute %q is unknown", e.name, name)
		}
		e.attrs = append(e.attrs, policy.Attr{Name: name, Value: a.Value})
	}
	p.rooted = true
	p.open = append(p.open, e)
	return nil
}

// end gives the element its meaning. Faults belong to the line where it began.
func (p *parser) end() error {
	e := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if e.kind.text && e.content() == "" {
		return p.at(e.line, fmt.Errorf("<%s> is empty", e.name))
	}
	if e.kind.end == nil {
		return nil
	}
	if err := e.kind.end(p, e); err != nil {
		return p.at(e.line, err)
	}
	return nil
}

func (p *parser) text(t xml.CharData) error {
	blank := len(bytes.TrimSpace(t)) == 0
	if len(p.open) == 0 {
		if !blank {
			return errors.New("text stands outside <busconfig>")
		}
		return nil
	}
	e := p.open[len(p.open)-1]
	if e.kind.text {
		e.text.Write(t)
	} else if !blank {
		return fmt.Errorf("<%s> cannot have text in it", e.name)
	}
	return nil
}

// at gives an error its position. One that has a line in this or another file
// keeps it: that is where the fault is. One about another file as a whole
// (missing, included in a circle) gets the line that wanted the file.
func (p *parser) at(line int, err error) error {
	var placed *Error
	if errors.As(err, &placed) && placed.Line > 0 {
		return err
	}
	return &Error{File: p.file, Line: line, Err: err}
}

// malformed is an error of the XML decoder.
func (p *parser) malformed(d *xml.Decoder, err error) error {
	line, _ := d.InputPos()
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		line, err = syntax.Line, errors.New(syntax.Msg)
	}
	return &Error{File: p.file, Line: line, Err: fmt.Errorf("is not well-formed XML: %w", err)}
}

// display is a name as written, so that a foreign name space is no way to
// write an element that means something.
func display(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// latin1 decodes the two encodings beside UTF-8 that old files declare.
func latin1(charset string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(charset) {
	case "iso-8859-1", "us-ascii":
	default:
		return nil, fmt.Errorf("encoding %q is unknown: use UTF-8", charset)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return strings.NewReader(string(runes)), nil
}
