package command

import (
	"context"
	"strings"

	"quartet/services/botd/internal/said"
)

// Pomoc answers with the list of commands, itself first. Its two texts are made
// once: it is what the bot's own share is measured with.
func Pomoc(lang said.Lang, prefix string, others ...*Command) *Command {
	pomoc := &Command{Name: "pomoc", Aliases: []string{"help"}, Help: lang.About(said.Help)}
	list := func(s said.Scope) Reply {
		lines := []string{lang.HelpHeader(s)}
		for _, c := range append([]*Command{pomoc}, others...) {
			var aliases []string
			for _, a := range c.Aliases {
				aliases = append(aliases, prefix+a)
			}
			lines = append(lines, lang.HelpLine(lang.Usage(prefix+c.Name, c.Params), aliases, c.Help))
		}
		return Reply{Text: strings.Join(lines, "\n")}
	}
	group, direct := list(said.InGroup), list(said.InDirect)
	pomoc.Run = func(_ context.Context, r Request) (Reply, error) {
		if r.Group {
			return group, nil
		}
		return direct, nil
	}
	return pomoc
}
