package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/pages"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

// Switches are what admins decided about commands in chats. Off is asked for
// every use of a command, and for each command when they are listed.
// SetCooldown takes a pause of less than 0 as none decided.
type Switches interface {
	Off(command string, chat transport.Chat) bool
	SwitchOff(command string, chat transport.Chat) error
	SwitchOn(command string, chat transport.Chat) error
	SetCooldown(command string, chat transport.Chat, d time.Duration) error
}

// Options say how a registry shows its commands and who changes them.
type Options struct {
	Lang     said.Lang
	Prefix   string // what commands are shown with
	Switches Switches
	Limits   cooldown.Limits // of pomoc
}

// The bounds of a registry: how many commands there may be, which are the 256 of
// an operator's file and those that every bot has, and how many bytes the line of
// one in the list of commands may have, so that the list is cut between lines
// only.
const (
	maxCommands = 256 + 32
	maxLine     = pages.Limit / 2
)

// Registry finds commands by name. It is immutable after NewRegistry: other
// commands are another registry.
type Registry struct {
	options Options
	pomoc   *Command
	order   []*Command
	lines   []string            // of the list, in the order of the commands
	byName  map[string]*Command // by folded name and alias
	names   []name
}

// name is one name or alias that a command has.
type name struct {
	text string
	of   *Command
}

// NewRegistry returns a registry of commands and of those that are about
// commands: pomoc, włącz, wyłącz and przerwa. The error names every command
// that cannot be one, and why: a name that is none or that another command has,
// parameters that cannot be filled in one way, nothing to run.
func NewRegistry(o Options, commands ...*Command) (*Registry, error) {
	r := &Registry{options: o, byName: make(map[string]*Command)}
	r.pomoc = r.newPomoc()
	r.order = append(append([]*Command{r.pomoc}, r.newSwitches()...), commands...)
	if len(r.order) > maxCommands {
		return nil, fmt.Errorf("there are %d commands, at most %d may be", len(r.order), maxCommands)
	}
	var errs []error
	for _, c := range r.order {
		if err := r.add(c); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.place(), err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// place says which command a fault is about.
func (c *Command) place() string {
	if c.Line == 0 {
		return fmt.Sprintf("command %q", c.Name)
	}
	return fmt.Sprintf("line %d: command %q", c.Line, c.Name)
}

func (r *Registry) add(c *Command) error {
	var errs []error
	for _, text := range append([]string{c.Name}, c.Aliases...) {
		errs = append(errs, asked.CheckName(text))
		folded := asked.Fold(text)
		if other := r.byName[folded]; other != nil {
			whose := "the command"
			if other.Line == 0 && c.Line != 0 {
				whose = "the bot's own command"
			}
			errs = append(errs, fmt.Errorf("%q is a name of %s %q already; capitals and accents make no difference", text, whose, other.Name))
			continue
		}
		r.byName[folded] = c
		r.names = append(r.names, name{text, c})
	}
	line := r.line(c)
	r.lines = append(r.lines, line)
	switch {
	case strings.ContainsFunc(line, unicode.IsControl):
		errs = append(errs, errors.New("its help has a line break or another control character in it"))
	case len(line) > maxLine:
		errs = append(errs, fmt.Errorf("its line in the list of commands would have %d bytes, at most %d fit: shorten its help", len(line), maxLine))
	}
	if c.Where == InDirect && len(c.Groups) > 0 {
		errs = append(errs, errors.New("it works in direct chats only and in certain groups only, so nowhere"))
	}
	if c.Run == nil {
		errs = append(errs, errors.New("it has nothing to run"))
	}
	return errors.Join(append(errs, asked.CheckParams(c.Params))...)
}

// Find returns the command of a folded name, pomoc for "", or nil. Whether the
// asker may use it is Check's to say.
func (r *Registry) Find(folded string) *Command {
	if folded == "" {
		return r.pomoc
	}
	return r.byName[folded]
}

// All are the commands, in the order in which they are listed.
func (r *Registry) All() []*Command { return r.order }

// Check says whether somebody may use a command where they ask.
func (r *Registry) Check(c *Command, q Request) Verdict {
	v := c.Allows(q)
	if v == Allowed && !r.fixed(c) && r.options.Switches.Off(c.Name, q.Chat) {
		return Off
	}
	return v
}

// fixed reports whether a command cannot be switched off or slowed down: one
// must be able to switch it on again, and to learn how.
func (r *Registry) fixed(c *Command) bool { return c == r.pomoc || c.Admins }

// Refused are the words for a verdict other than Allowed.
func (r *Registry) Refused(c *Command, v Verdict) string {
	return v.words(r.options.Lang, r.Shown(c))
}

// Guess returns a command that asks back whether a near one was meant, nil when
// none is near that the asker may use. It has the limits of the near one, under
// a name of its own.
func (r *Registry) Guess(typed string, q Request) *Command {
	options := make([]asked.Option, 0, len(r.names))
	for _, n := range r.names {
		if r.Check(n.of, q) == Allowed {
			options = append(options, asked.Option{Name: n.text, Command: n.of.Name})
		}
	}
	near, ok := asked.Nearest(typed, options)
	if !ok {
		return nil
	}
	answer := Reply{Text: r.options.Lang.DidYouMean(r.options.Prefix + near.Name)}
	return &Command{
		Name:   guessName,
		Limits: r.Find(asked.Fold(near.Name)).Limits,
		Run:    func(context.Context, Request) (Reply, error) { return answer, nil },
	}
}

// guessName is what a guess is called in metrics: never by what people typed.
// No command can have it.
const guessName = "_guess"

// Shown is how a command is shown to people.
func (r *Registry) Shown(c *Command) string {
	if c.Name == guessName {
		c = r.pomoc
	}
	return r.options.Prefix + c.In(r.options.Lang)
}

// Usage shows how a command is called.
func (r *Registry) Usage(c *Command) string {
	return r.options.Lang.Usage(r.Shown(c), c.Params)
}
