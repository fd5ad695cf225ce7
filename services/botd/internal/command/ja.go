package command

import (
	"context"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/said"
)

// Ja tells people what the bot keeps about them: how many commands they have
// used, unless they do not want that counted. forget is how the command that
// erases it is shown.
func Ja(lang said.Lang, forget string) *Command {
	return &Command{
		Name:    "ja",
		Aliases: []string{"me"},
		Help:    lang.About(said.Me),
		Run: func(_ context.Context, r Request) (Reply, error) {
			if r.Uses == 0 {
				return Reply{Text: lang.NothingAboutYou(r.Name)}, nil
			}
			return Reply{Text: lang.AboutYou(r.Name, r.Uses, forget)}, nil
		},
	}
}

// Memory is what is kept about people, by uuid.
type Memory interface {
	Forget(person string) error // erases it
	OptOut(person string) error // erases it and keeps no more
	OptIn(person string) error
}

// Zapomnij erases what the bot keeps about the asker, and if they wish so keeps
// no more. A running cooldown ends by itself and is left: erasing it would be a
// way around it. So is what keeps an answer from being given twice.
func Zapomnij(lang said.Lang, prefix string, memory Memory) *Command {
	param := asked.Param{Name: "lasting", Kind: asked.Word, Optional: true}
	always, undo := []string{"zawsze", "always"}, []string{"cofnij", "undo"}
	names := []string{"zapomnij", "forget"}
	back := prefix + inLang(lang, names) + " " + inLang(lang, undo)
	return &Command{
		Name:      names[0],
		Aliases:   names[1:],
		Params:    []asked.Param{param},
		Help:      lang.About(said.Forget),
		Uncounted: true,
		Run: func(_ context.Context, r Request) (Reply, error) {
			switch given := r.Args[param.Name]; {
			case !given.Given:
				return done(lang.Forgotten(), memory.Forget(r.Sender))
			case oneOf(given.Text, always):
				return done(lang.OptedOut(back), memory.OptOut(r.Sender))
			case oneOf(given.Text, undo):
				return done(lang.OptedIn(), memory.OptIn(r.Sender))
			default:
				return Reply{}, &asked.Misfit{Reason: asked.Unfit, Param: param, Got: given.Text}
			}
		},
	}
}
