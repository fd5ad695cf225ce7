package custom

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/commandfile"
)

// maxAddress is how many bytes an address may have with what people wrote in it.
const maxAddress = 4096

var (
	errLongAddress = errors.New("the address is too long with what was asked for")
	errDots        = errors.New("the address would lead elsewhere with what was asked for")
)

// address fills what somebody wrote into an address, escaped, so that it stays
// one part of a path or one value of a query.
func address(tpl commandfile.Template, params []asked.Param, r command.Request) (*url.URL, error) {
	query := false
	next := 0 // of the template
	filled := tpl.Fill(func(name string) string {
		query = query || strings.Contains(tpl[next].Text, "?")
		next++
		if query {
			return url.QueryEscape(value(name, params, r))
		}
		return url.PathEscape(value(name, params, r))
	})
	if len(filled) > maxAddress {
		return nil, errLongAddress
	}
	u, err := url.Parse(filled)
	if err != nil {
		return nil, errDots // the error has the address
	}
	parts := strings.FieldsFunc(u.Path, func(c rune) bool { return c == '/' || c == '\\' })
	if slices.ContainsFunc(parts, func(part string) bool { return part == "." || part == ".." }) {
		return nil, errDots
	}
	return u, nil
}

// value is what a placeholder of an address stands for; empty when it was not given.
func value(name string, params []asked.Param, r command.Request) string {
	for _, p := range params {
		if p.Name == name && r.Args[name].Given {
			return fmt.Sprint(argument(p, r.Args[name]))
		}
	}
	switch {
	case name == "words":
		return strings.TrimSpace(r.Text)
	case name == "sender_name":
		return r.Name
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, "word"))
	if words := strings.Fields(r.Text); err == nil && n >= 1 && n <= len(words) {
		return words[n-1]
	}
	return ""
}

// argument is what somebody gave for a parameter: a number, or a text; of a
// person the uuid, or the number where no uuid is known.
func argument(p asked.Param, v asked.Value) any {
	switch p.Kind {
	case asked.Number:
		return v.Number
	case asked.Person:
		return cmp.Or(v.Mention.UUID, v.Mention.Number)
	}
	return v.Text
}
