// Package custom makes commands of what stands in the operator's file: texts,
// answers of web servers, and programs.
//
//	custom.go   a command of a file, as the bot knows commands
//	secret.go   values that stand in files of their own
//	http.go     a request, and what its answer is taken for
//	address.go  what people write, in the address of a request
//	lookup.go   a place in JSON
//	hook.go     what a hook is told, and what it may answer
//	exec.go     a program as a hook, pipes.go what goes in and out of it
//	stderr.go   what a program complains about, without people's words
//
// What comes from outside is bounded and taken for text: nothing in it is
// interpreted, and nothing but letters, signs, spaces and line breaks is passed
// on. Addresses are asked through a Fetcher, so none is private. The programs are
// the operator's own and are trusted with what people write; a program that does
// not end is ended, with all that it has started.
//
// Errors are for the log: they have nothing that people wrote.
package custom

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"

	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/upstream"
)

// Options are what commands of a file need.
type Options struct {
	Lang    said.Lang
	Limits  cooldown.Limits   // of a command for which the file has none
	Fetcher *upstream.Fetcher // asks web servers

	// Picture checks what a hook gives for a picture.
	Picture func(data []byte) (upstream.Picture, error)
}

// run answers a request.
type run = func(context.Context, command.Request) (command.Reply, error)

// New makes the commands of a file. It reads the secrets and looks whether the
// programs are there. The error is commandfile.Faults and names all that is
// missing.
func New(f *commandfile.File, o Options) ([]*command.Command, error) {
	var all []*command.Command
	var faults commandfile.Faults
	for i := range f.Commands {
		c := &f.Commands[i]
		answer, err := o.answer(c)
		if err != nil {
			faults = append(faults, commandfile.Fault{Line: c.Line, At: "command \"" + c.Name + "\"", What: strings.ReplaceAll(err.Error(), "\n", "; ")})
			continue
		}
		all = append(all, o.command(c, answer))
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return all, nil
}

func (o Options) command(c *commandfile.Command, answer run) *command.Command {
	limits := o.Limits
	if c.Cooldown != nil {
		limits = cooldown.Limits(*c.Cooldown)
	}
	if c.Timeout > 0 {
		within := answer
		answer = func(ctx context.Context, r command.Request) (command.Reply, error) {
			ctx, cancel := context.WithTimeout(ctx, c.Timeout)
			defer cancel()
			return within(ctx, r)
		}
	}
	return &command.Command{
		Name: c.Name, Aliases: c.Aliases, Params: c.Params, Help: c.Help, Line: c.Line,
		Where: places[c.Where], Admins: c.Admins, Groups: c.Groups, People: c.People,
		Limits: limits, Run: answer,
	}
}

var places = map[commandfile.Where]command.Where{
	commandfile.Anywhere: command.Anywhere,
	commandfile.InGroups: command.InGroups,
	commandfile.InDirect: command.InDirect,
}

// answer makes what a command runs.
func (o Options) answer(c *commandfile.Command) (run, error) {
	switch {
	case c.HTTP != nil:
		return o.newCaller(c)
	case c.Exec != nil:
		return o.newProgram(c)
	case len(c.Choice) > 0:
		return choice(c.Choice), nil
	}
	reply := command.Reply{Text: c.Text}
	return func(context.Context, command.Request) (command.Reply, error) { return reply, nil }, nil
}

// choice answers with one of several texts, each as often as its weight says.
func choice(options []commandfile.Option) run {
	total := 0
	for _, o := range options {
		total += o.Weight
	}
	return func(context.Context, command.Request) (command.Reply, error) {
		n := rand.IntN(total)
		for _, o := range options {
			if n -= o.Weight; n < 0 {
				return command.Reply{Text: o.Text}, nil
			}
		}
		return command.Reply{}, nil // the weights add up to total
	}
}

// The errors of an answer that cannot be shown.
var (
	errNoText  = errors.New("the answer is no text in UTF-8")
	errTooLong = errors.New("the answer's text is too long, 64 KiB is the most")
	errEmpty   = errors.New("the answer is empty")
)

// shown makes of an answer what can be shown to people.
func shown(text string) (string, error) {
	switch {
	case len(text) > commandfile.MaxText:
		return "", errTooLong
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", errNoText
	}
	return strings.TrimFunc(strings.Map(visible, strings.ReplaceAll(text, "\r\n", "\n")), unicode.IsSpace), nil
}

// visible drops what would steer a terminal or turn the direction of a text.
func visible(c rune) rune {
	switch {
	case c == '\n', c == '\t':
		return c
	case unicode.IsControl(c), c >= 0x202A && c <= 0x202E, c >= 0x2066 && c <= 0x2069, c == '\uFEFF':
		return -1
	}
	return c
}
