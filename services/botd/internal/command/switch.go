package command

import (
	"context"
	"strings"
	"time"
	"unicode"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/said"
)

// maxCooldown is the longest pause that an admin can set.
const maxCooldown = 24 * time.Hour

// newSwitches returns the commands with which admins change others where they
// ask.
func (r *Registry) newSwitches() []*Command {
	lang, switches := r.options.Lang, r.options.Switches
	which := asked.Param{Name: "command", Kind: asked.Word}
	seconds := asked.Param{Name: "seconds", Kind: asked.Number, Optional: true, Max: int64(maxCooldown / time.Second)}
	// change lets do change the command that the admin named.
	change := func(do func(c *Command, q Request) (string, error)) func(context.Context, Request) (Reply, error) {
		return func(_ context.Context, q Request) (Reply, error) {
			typed := q.Args[which.Name].Text
			c := r.byName[named(typed)]
			switch {
			case c == nil:
				return Reply{Text: lang.NoCommand(typed)}, nil
			case r.fixed(c):
				return Reply{Text: lang.Fixed(r.Shown(c))}, nil
			}
			words, err := do(c, q)
			return decided(lang, words, err)
		}
	}
	return []*Command{{
		Name: "włącz", Aliases: []string{"on"}, Params: []asked.Param{which}, Help: lang.About(said.SwitchOn), Admins: true,
		Run: change(func(c *Command, q Request) (string, error) {
			return lang.SwitchedOn(r.Shown(c)), switches.SwitchOn(c.Name, q.Chat)
		}),
	}, {
		Name: "wyłącz", Aliases: []string{"off"}, Params: []asked.Param{which}, Help: lang.About(said.SwitchOff), Admins: true,
		Run: change(func(c *Command, q Request) (string, error) {
			return lang.SwitchedOff(r.Shown(c)), switches.SwitchOff(c.Name, q.Chat)
		}),
	}, {
		Name: "przerwa", Aliases: []string{"cooldown"}, Params: []asked.Param{which, seconds}, Help: lang.About(said.Cooldown), Admins: true,
		Run: change(func(c *Command, q Request) (string, error) {
			given := q.Args[seconds.Name]
			if !given.Given {
				return lang.CooldownUnset(r.Shown(c)), switches.SetCooldown(c.Name, q.Chat, -1)
			}
			pause := time.Duration(given.Number) * time.Second
			return lang.CooldownSet(r.Shown(c), pause), switches.SetCooldown(c.Name, q.Chat, pause)
		}),
	}}
}

// named is the folded name of a command that somebody names, with the prefix or
// without.
func named(typed string) string {
	return asked.Fold(strings.TrimFunc(typed, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c)
	}))
}
