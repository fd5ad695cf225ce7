package dash

import (
	"slices"
	"strings"
)

// Use is one place of a query where a metric is read.
type Use struct {
	Metric   string   // "" when the matchers alone choose, as in {job="x"}
	Matchers []string // as they are written: `job=~"$job"`
	Range    string   // what is in the brackets behind it
	Calls    []string // the functions around it, the innermost first
}

// Labels are the names that the matchers match.
func (u Use) Labels() []string {
	var names []string
	for _, m := range u.Matchers {
		names = append(names, strings.TrimSpace(m[:strings.IndexAny(m+"=", "=!")]))
	}
	return names
}

// grouping are the words that a list of labels follows, in place of metrics.
var grouping = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}

// operators are words, and names of numbers, that are neither.
var operators = []string{"and", "or", "unless", "bool", "offset", "inf", "nan", "atan2"}

// Uses finds the places where a query reads metrics. It takes for granted that
// the query is PromQL.
func Uses(expr string) []Use {
	s := scanner{text: expr}
	var uses []Use
	var open []string // the function of each open parenthesis, "" for none
	word := ""        // the word before
	for s.next() {
		switch {
		case s.token == "(":
			if slices.Contains(grouping, word) {
				s.until(')')
				word = ""
				continue
			}
			open = append(open, word)
		case s.token == ")":
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		case s.token == "{":
			uses = append(uses, Use{Matchers: s.matchers(), Calls: calls(open)})
		case s.token == "[":
			if within := s.until(']'); len(uses) > 0 {
				uses[len(uses)-1].Range = within
			}
		case isName(s.token) && (s.peek() == '(' || s.grouped()), slices.Contains(grouping, s.token), slices.Contains(operators, strings.ToLower(s.token)):
			word = s.token
			continue
		case isName(s.token):
			u := Use{Metric: s.token, Calls: calls(open)}
			if s.peek() == '{' {
				s.next()
				u.Matchers = s.matchers()
			}
			uses = append(uses, u)
		}
		word = ""
	}
	return uses
}

func calls(open []string) []string {
	var names []string
	for _, name := range slices.Backward(open) {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

func isName(token string) bool {
	c := token[0]
	return c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// scanner cuts a query into names, numbers, strings and signs.
type scanner struct {
	text  string
	at    int
	token string
}

func (s *scanner) next() bool {
	for s.at < len(s.text) && strings.IndexByte(" \t\n", s.text[s.at]) >= 0 {
		s.at++
	}
	if s.at >= len(s.text) {
		return false
	}
	from := s.at
	switch c := s.text[s.at]; {
	case c == '"' || c == '\'':
		s.quoted(c)
	case inWord(c):
		for s.at < len(s.text) && inWord(s.text[s.at]) {
			s.at++
		}
	default:
		s.at++
	}
	s.token = s.text[from:s.at]
	return true
}

func (s *scanner) quoted(quote byte) {
	for s.at++; s.at < len(s.text) && s.text[s.at] != quote; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at = min(s.at+1, len(s.text))
}

func inWord(c byte) bool {
	return c == '_' || c == ':' || c == '.' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// peek is the next sign, which it leaves.
func (s *scanner) peek() byte {
	rest := strings.TrimLeft(s.text[s.at:], " \t\n")
	if rest == "" {
		return 0
	}
	return rest[0]
}

// grouped reports whether the word is an aggregation whose labels come before
// its argument: sum by (x) (y).
func (s *scanner) grouped() bool {
	rest := scanner{text: s.text, at: s.at}
	return rest.next() && (rest.token == "by" || rest.token == "without")
}

// until reads on behind a closing sign and returns what was before it.
func (s *scanner) until(close byte) string {
	from := s.at
	for s.at < len(s.text) && s.text[s.at] != close {
		s.at++
	}
	within := s.text[from:s.at]
	s.at = min(s.at+1, len(s.text))
	return within
}

// matchers reads what is between braces, of which the first is read.
func (s *scanner) matchers() []string {
	var all []string
	from := s.at
	for s.next() {
		if s.token != "," && s.token != "}" {
			continue
		}
		if m := strings.TrimSpace(s.text[from : s.at-1]); m != "" {
			all = append(all, m)
		}
		from = s.at
		if s.token == "}" {
			break
		}
	}
	return all
}
