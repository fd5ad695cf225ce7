package differential_test

import (
	"fmt"
	"regexp"
	"strings"
)

// A transcript is what each connection of a session has received, in order.
type transcript [][]*event

// transcript takes what connections have received, with everything in it that
// a bus may choose freely (unique names, serials, ids) replaced by what it
// means. What the control connection has to do with is left out.
func (p *play) transcript() transcript {
	t := make(transcript, len(p.conns))
	for i, c := range p.conns {
		for _, e := range c.got {
			if e.end {
				t[i] = append(t[i], e)
				continue
			}
			from, to := e.text(fieldSender), e.text(fieldDestination)
			if e.serial >= marker || e.replySerial() >= marker || from == p.stage.control.name || to == p.stage.control.name {
				continue
			}
			e.at, e.noFDs = fmt.Sprintf("<%d>", i), !c.passes
			if (e.fromBus() || from == "") && e.replySerial() != 0 && to != busName {
				e.answers = p.asked[fmt.Sprint(p.index(to, i), " ", e.replySerial())]
			}
			p.normalize(e)
			t[i] = append(t[i], e)
		}
	}
	return t
}

// index is which connection has a name; without a name it is the one that
// received the message.
func (p *play) index(name string, i int) int {
	for k, c := range p.conns {
		if c.name == name && name != "" {
			return k
		}
	}
	return i
}

var uniqueNames = regexp.MustCompile(`:1\.[0-9]+`)

func (p *play) normalize(e *event) {
	if e.fromBus() {
		e.serial = 0
	}
	rename := func(v *value) {
		if v.sig == "s" && strings.Contains(v.s, ":1.") {
			v.s = uniqueNames.ReplaceAllStringFunc(v.s, p.role)
		}
	}
	for code, v := range e.fields {
		v.each(rename)
		e.fields[code] = v
	}
	delete(e.fields, fieldSignature) // the types of the values say the same
	for i := range e.body {
		e.body[i].each(rename)
	}
}

// role is which connection of the session has a unique name.
func (p *play) role(name string) string {
	if name == p.stage.control.name {
		return "<control>"
	}
	for i, c := range p.conns {
		if c.name == name {
			return fmt.Sprintf("<%d>", i)
		}
	}
	return name
}

func lines(events []*event) (all []string) {
	for _, e := range events {
		all = append(all, e.String())
	}
	return all
}

// compare says where two transcripts differ first, with what came before; ""
// is nowhere.
func compare(left, right string, a, b transcript) string {
	for i := range a {
		x, y := lines(a[i]), lines(b[i])
		for k := range max(len(x), len(y)) {
			if k < len(x) && k < len(y) && x[k] == y[k] {
				continue
			}
			var s strings.Builder
			for _, same := range x[max(0, k-3):min(k, len(x))] {
				fmt.Fprintf(&s, "     both: %s\n", same)
			}
			for _, side := range []struct {
				who   string
				lines []string
			}{{left, x}, {right, y}} {
				for _, line := range side.lines[min(k, len(side.lines)):min(k+3, len(side.lines))] {
					fmt.Fprintf(&s, "%12s: %s\n", side.who, line)
				}
			}
			return fmt.Sprintf("connection <%d>, message %d:\n%s", i, k, s.String())
		}
	}
	return ""
}
