package jsonrpc

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// params are a call's parameters under camelCase names: signal-cli takes
// dashed ones too, and a list as x, [..] or under its plural.
type params map[string]json.RawMessage

func parseParams(raw json.RawMessage) (params, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return params{}, nil
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return nil, errors.New("params must be an object")
	}
	p := make(params, len(given))
	for name, value := range given {
		p[camel(name)] = value
	}
	return p, nil
}

func camel(name string) string {
	words := strings.Split(name, "-")
	for i := 1; i < len(words); i++ {
		if w := words[i]; w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// text returns a string parameter, "" when it is not there or not a string.
func (p params) text(name string) string {
	var s string
	_ = json.Unmarshal(p[name], &s)
	return s
}

// number returns an integer parameter, which may be written as a string.
func (p params) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(strings.Trim(string(p[name]), `"`), 10, 64)
	return n, err == nil
}

// numbers returns a parameter that may be one integer or many, under its name
// or its plural; none when one of them is not an integer.
func (p params) numbers(name string) []int64 {
	var all []int64
	for _, key := range []string{name, name + "s"} {
		var many []int64
		if one, ok := p.number(key); ok {
			all = append(all, one)
		} else if p[key] != nil && json.Unmarshal(p[key], &many) != nil {
			return nil
		}
		all = append(all, many...)
	}
	return all
}

// flag returns a boolean parameter, or otherwise when it is not there.
func (p params) flag(name string, otherwise bool) bool {
	b := otherwise
	_ = json.Unmarshal(p[name], &b)
	return b
}

// list returns a parameter that may be one string or many, under its name or its plural.
func (p params) list(name string) []string {
	var all []string
	for _, key := range []string{name, name + "s"} {
		var many []string
		if one := p.text(key); one != "" {
			all = append(all, one)
		} else if json.Unmarshal(p[key], &many) == nil {
			all = append(all, many...)
		}
	}
	return all
}
