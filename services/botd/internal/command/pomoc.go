package command

import (
	"context"
	"strings"

	"quartet/services/botd/internal/said"
)

// newPomoc returns the command that lists what the asker may use in the chat;
// admins get their own part. It is what the bot's own share is measured with,
// so the lines are made once.
func (r *Registry) newPomoc() *Command {
	return &Command{
		Name:    "pomoc",
		Aliases: []string{"help"},
		Help:    r.options.Lang.About(said.Help),
		Limits:  r.options.Limits,
		Run: func(_ context.Context, q Request) (Reply, error) {
			return Reply{Text: r.list(q)}, nil
		},
	}
}

// line is a command's line in the list.
func (r *Registry) line(c *Command) string {
	aliases := make([]string, 0, len(c.Aliases))
	for _, name := range append([]string{c.Name}, c.Aliases...) {
		if name != c.In(r.options.Lang) {
			aliases = append(aliases, r.options.Prefix+name)
		}
	}
	return r.options.Lang.HelpLine(r.Usage(c), aliases, c.Help)
}

func (r *Registry) list(q Request) string {
	scope := said.InDirect
	if q.Chat.Group != "" {
		scope = said.InGroup
	}
	var out strings.Builder
	out.Grow(len(r.order) * typicalLine)
	r.part(&out, scope, q, false)
	if q.Admin {
		out.WriteString("\n\n")
		r.part(&out, said.ForAdmins, q, true)
	}
	return out.String()
}

// typicalLine is about how long a line of the list is, in bytes.
const typicalLine = 80

// part writes those of the commands that are for admins only, or the others.
func (r *Registry) part(out *strings.Builder, scope said.Scope, q Request, admins bool) {
	out.WriteString(r.options.Lang.HelpHeader(scope))
	for i, c := range r.order {
		if c.Admins == admins && r.Check(c, q) == Allowed {
			out.WriteByte('\n')
			out.WriteString(r.lines[i])
		}
	}
}
