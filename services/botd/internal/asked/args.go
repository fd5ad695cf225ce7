package asked

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Kind is what a parameter takes.
type Kind int

// The kinds of parameter.
const (
	Word   Kind = iota + 1 // one word
	Number                 // a whole number
	Rest                   // all text that is left, its lines and spaces as they are
	Person                 // somebody mentioned, wherever in the text, or the next word if it is a uuid
)

// Param is one parameter of a command.
type Param struct {
	Name     string // what it is called, in Args and towards people
	Kind     Kind
	Optional bool
	Min, Max int64 // bounds of a Number, both included; both 0 for any
}

// CheckParams refuses parameters that no text could fill in one way only: names
// must differ, words must not follow an optional one unless they are optional
// too, and nothing but persons follows a Rest.
func CheckParams(params []Param) error {
	var errs []error
	seen := make(map[string]bool, len(params))
	var optional, rest string
	people := ""
	for _, p := range params {
		if p.Name == "" || seen[p.Name] {
			errs = append(errs, fmt.Errorf("parameter %q: the name is empty or given twice", p.Name))
		}
		seen[p.Name] = true
		if p.Min > p.Max {
			errs = append(errs, fmt.Errorf("parameter %q: at least %d and at most %d cannot be", p.Name, p.Min, p.Max))
		}
		before := &optional
		switch p.Kind {
		case Word, Number, Rest:
			if rest != "" {
				errs = append(errs, fmt.Errorf("parameter %q follows %q, which takes all that is left", p.Name, rest))
			}
			if p.Kind == Rest {
				rest = p.Name
			}
		case Person:
			before = &people
		default:
			errs = append(errs, fmt.Errorf("parameter %q: unknown kind %d", p.Name, p.Kind))
		}
		switch {
		case p.Optional:
			*before = p.Name
		case *before != "":
			errs = append(errs, fmt.Errorf("parameter %q is required and follows %q, which is not", p.Name, *before))
		}
	}
	return errors.Join(errs...)
}

// Value is what one parameter was given.
type Value struct {
	Given   bool   // false for an optional parameter that was left out
	Text    string // of Word, Number and Rest, as typed; it is the user's text
	Number  int64
	Mention Mention
}

// Args are values by the names of their parameters. One that was not given, or
// not declared, is the zero Value.
type Args map[string]Value

// Reason says why a text does not fit a command's parameters.
type Reason int

// The reasons.
const (
	Missing    Reason = iota + 1 // a required parameter was not given
	NotNumber                    // a Number got something else
	NotPerson                    // a required Person got a word that is no uuid
	OutOfRange                   // a Number got one beyond its bounds
	TooMany                      // something is left over
	Unfit                        // something else was expected; commands find that themselves
)

// Misfit says what does not fit. Its text is for logs and has none of the
// user's words; package said has the words for people.
type Misfit struct {
	Reason Reason
	Param  Param  // which parameter; the zero Param for TooMany
	Got    string // what was given, the user's text; may be empty
}

func (m *Misfit) Error() string {
	switch m.Reason {
	case Missing:
		return fmt.Sprintf("argument %s is missing", m.Param.Name)
	case NotNumber:
		return fmt.Sprintf("argument %s is not a whole number", m.Param.Name)
	case NotPerson:
		return fmt.Sprintf("argument %s is neither a mention nor a uuid", m.Param.Name)
	case OutOfRange:
		return fmt.Sprintf("argument %s is not between %d and %d", m.Param.Name, m.Param.Min, m.Param.Max)
	case Unfit:
		return fmt.Sprintf("argument %s does not fit", m.Param.Name)
	}
	return "too many arguments"
}

// Fit gives what stands behind the name to the parameters: words in their
// order, mentions to persons in theirs, wherever they stand. The error is a
// *Misfit. Where a person is wanted and no mention is left, a uuid may stand:
// nobody else can be mentioned in a direct chat. A command without parameters
// takes anything ("!kot please"), and one without persons any mention; else
// nothing may be left over, because ignoring one of two people named would look
// as if both were meant.
func (c Call) Fit(params []Param) (Args, error) {
	args := make(Args, len(params))
	text, people := c.Text, c.Mentions
	persons := false
	for _, p := range params {
		v := Value{}
		switch p.Kind {
		case Person:
			persons = true
			if v.Given = len(people) > 0; v.Given {
				v.Mention, people = people[0], people[1:]
			} else if word, after := nextWord(text); isUUID(word) {
				v.Given, v.Mention.UUID, text = true, strings.ToLower(word), after
			}
		case Rest:
			v.Text, text = trim(text), ""
			v.Given = v.Text != ""
		default:
			v.Text, text = nextWord(text)
			v.Given = v.Text != ""
		}
		switch {
		case !v.Given && !p.Optional:
			return nil, lacking(p, params, text)
		case !v.Given:
			continue
		}
		if p.Kind == Number {
			var reason Reason
			if v.Number, reason = number(v.Text, p); reason != 0 {
				return nil, &Misfit{Reason: reason, Param: p, Got: v.Text}
			}
		}
		args[p.Name] = v
	}
	if len(params) == 0 {
		return args, nil
	}
	if word, _ := nextWord(text); word != "" {
		return nil, &Misfit{Reason: TooMany, Got: word}
	}
	if persons && len(people) > 0 {
		return nil, &Misfit{Reason: TooMany}
	}
	return args, nil
}

// lacking says why p got nothing. A word that is left was meant for a person
// where all parameters are persons; else it may be another's.
func lacking(p Param, params []Param, left string) *Misfit {
	word, _ := nextWord(left)
	if word == "" || slices.ContainsFunc(params, func(p Param) bool { return p.Kind != Person }) {
		return &Misfit{Reason: Missing, Param: p}
	}
	return &Misfit{Reason: NotPerson, Param: p, Got: word}
}

// nextWord returns the first word of text and what follows it.
func nextWord(text string) (word, rest string) {
	for text != "" && word == "" {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			end = len(text)
		}
		word, text = trim(text[:end]), text[end:] // empty when it was nothing but marks
	}
	return word, text
}

// isUUID reports whether word is spelled as people are at Signal.
func isUUID(word string) bool {
	if len(word) != len("00000000-0000-0000-0000-000000000000") {
		return false
	}
	for i, c := range []byte(strings.ToLower(word)) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// number reads a whole number for p, or says what is wrong with it.
func number(word string, p Param) (int64, Reason) {
	word = strings.Replace(word, "\u2212", "-", 1) // the minus of keyboards that know better
	n, err := strconv.ParseInt(word, 10, 64)
	bounded := p.Min != 0 || p.Max != 0
	switch {
	case errors.Is(err, strconv.ErrRange) && bounded:
		return 0, OutOfRange
	case err != nil:
		return 0, NotNumber
	case bounded && (n < p.Min || n > p.Max):
		return 0, OutOfRange
	}
	return n, 0
}
