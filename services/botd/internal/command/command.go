// Package command holds what the bot can be asked: the commands, how a text is
// read as one, and how often one person may use it.
//
// A command computes a reply from a request. It neither receives nor sends;
// what it needs from outside it is given when it is made.
package command

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"quartet/services/botd/internal/upstream"
)

// Command is one thing that the bot can be asked.
type Command struct {
	Name     string        // as typed after the prefix, lower case
	Help     string        // one line for people
	Cooldown time.Duration // how long the same person waits before the next; 0 is no wait
	Run      func(ctx context.Context, r Request) (Reply, error)
}

// Request is one use of a command.
type Request struct {
	Sender string // the asker's uuid
	Name   string // the asker's profile name; may be empty
	Group  bool   // asked in a group
	Args   string // what stood behind the command's name
	Uses   int    // how many commands the asker has used since the bot started, this one counted
}

// Reply is what a command answers.
type Reply struct {
	Text    string
	Picture *upstream.Picture // nil for a text only
}

// Registry finds commands by name. It is immutable after NewRegistry.
type Registry struct {
	prefix string
	order  []*Command
	byName map[string]*Command
}

// NewRegistry returns a registry of commands that are called with prefix. Two
// commands of one name are a mistake in the program and panic.
func NewRegistry(prefix string, commands ...*Command) *Registry {
	r := &Registry{prefix: prefix, order: commands, byName: make(map[string]*Command, len(commands))}
	for _, c := range commands {
		if r.byName[c.Name] != nil {
			panic(fmt.Sprintf("command: two commands are called %q", c.Name))
		}
		r.byName[c.Name] = c
	}
	return r
}

// Find returns the command called name, or nil.
func (r *Registry) Find(name string) *Command { return r.byName[name] }

// Parse splits a text into a command's name, in lower case, and what stands
// behind it; ok is false when the text is not addressed to the bot. Spaces of
// every kind and invisible marks around the text do not matter, nor does a
// space that a keyboard put between the prefix and the name.
func (r *Registry) Parse(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimFunc(text, blank), r.prefix)
	if !ok {
		return "", "", false
	}
	rest = strings.TrimLeftFunc(rest, blank)
	end := strings.IndexFunc(rest, blank)
	if end < 0 {
		end = len(rest)
	}
	name = strings.ToLower(rest[:end])
	if name == "" || !startsName(name) {
		return "", "", false
	}
	return name, strings.TrimLeftFunc(rest[end:], blank), true
}

// startsName tells a command from an exclamation: "!!!" and "!?" call nobody.
func startsName(s string) bool {
	for _, first := range s {
		return unicode.IsLetter(first) || unicode.IsDigit(first)
	}
	return false
}

// blank reports whether r shows nothing: white space, also the no-break kinds,
// and the marks that phones and copied texts leave (joiners, directions, BOM).
func blank(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
}
