package command

import (
	"context"

	"quartet/services/botd/internal/said"
)

// Ja tells people what the bot knows about them: their profile name, which is
// not kept, and how many commands they have used. forget is how the command
// that erases it is shown.
func Ja(lang said.Lang, forget string) *Command {
	return &Command{
		Name:    "ja",
		Aliases: []string{"me"},
		Help:    lang.About(said.Me),
		Run: func(_ context.Context, r Request) (Reply, error) {
			return Reply{Text: lang.AboutYou(r.Name, r.Uses, forget)}, nil
		},
	}
}

// Zapomnij erases what the bot knows about the asker. A running cooldown ends
// by itself and is left: erasing it would be a way around it.
func Zapomnij(lang said.Lang, tally *Tally) *Command {
	return &Command{
		Name:    "zapomnij",
		Aliases: []string{"forget"},
		Help:    lang.About(said.Forget),
		Run: func(_ context.Context, r Request) (Reply, error) {
			tally.Forget(r.Sender)
			return Reply{Text: lang.Forgotten()}, nil
		},
	}
}
