// Package command holds what the bot can be asked: the commands, and how often
// one person may use each.
//
// A command computes a reply from a request. It neither receives nor sends;
// what it needs from outside it is given when it is made. How texts are read
// as commands is package asked's business, the words are package said's.
package command

import (
	"context"
	"fmt"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/upstream"
)

// Command is one thing that the bot can be asked.
type Command struct {
	Name     string   // what it is called first, in help and in metrics
	Aliases  []string // other names
	Params   []asked.Param
	Help     string        // one line for people
	Cooldown time.Duration // how long the same person waits before the next; 0 is no wait
	Run      func(ctx context.Context, r Request) (Reply, error)
}

// Request is one use of a command.
type Request struct {
	Sender string // the asker's uuid
	Name   string // the asker's profile name; may be empty
	Group  bool   // asked in a group
	Args   asked.Args
	Uses   int // how many commands the asker has used since the bot started, this one counted
}

// Reply is what a command answers.
type Reply struct {
	Text    string
	Picture *upstream.Picture // nil for a text only
}

// Registry finds commands by name. It is immutable after NewRegistry.
type Registry struct {
	lang   said.Lang
	prefix string
	order  []*Command
	byName map[string]*Command // by folded name and alias
	names  []asked.Option
}

// NewRegistry returns a registry of commands that are shown to people with
// prefix; the first is the one that helps. A name that is none or that two
// commands have, and parameters that cannot be filled in one way, are mistakes
// in the program and panic.
func NewRegistry(lang said.Lang, prefix string, commands ...*Command) *Registry {
	r := &Registry{lang: lang, prefix: prefix, order: commands, byName: make(map[string]*Command)}
	for _, c := range commands {
		if err := asked.CheckParams(c.Params); err != nil {
			panic(fmt.Sprintf("command %s: %v", c.Name, err))
		}
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			r.add(name, c)
		}
	}
	return r
}

func (r *Registry) add(name string, c *Command) {
	if err := asked.CheckName(name); err != nil {
		panic(fmt.Sprintf("command %q: %v", name, err))
	}
	folded := asked.Fold(name)
	if r.byName[folded] != nil {
		panic(fmt.Sprintf("command: two commands are called %q", name))
	}
	r.byName[folded] = c
	r.names = append(r.names, asked.Option{Name: name, Command: c.Name})
}

// Find returns the command of a folded name, the one that helps for "", or nil.
func (r *Registry) Find(folded string) *Command {
	if folded == "" {
		return r.order[0]
	}
	return r.byName[folded]
}

// Guess returns a command that asks back whether a near one was meant, nil when
// none is near. It has the cooldown of the near one, under a name of its own.
func (r *Registry) Guess(typed string) *Command {
	near, ok := asked.Nearest(typed, r.names)
	if !ok {
		return nil
	}
	answer := Reply{Text: r.lang.DidYouMean(r.prefix + near.Name)}
	return &Command{
		Name:     guessName,
		Cooldown: r.Find(asked.Fold(near.Name)).Cooldown,
		Run:      func(context.Context, Request) (Reply, error) { return answer, nil },
	}
}

// guessName is what a guess is called in metrics: never by what people typed.
const guessName = "_guess"

// Shown is how a command is shown to people.
func (r *Registry) Shown(c *Command) string {
	if c.Name == guessName {
		return r.prefix + r.order[0].Name
	}
	return r.prefix + c.Name
}

// Usage shows how a command is called.
func (r *Registry) Usage(c *Command) string { return r.lang.Usage(r.prefix+c.Name, c.Params) }
