package command

import (
	"context"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

// Status tells admins how the bot is and where the time goes.
func Status(lang said.Lang, state func(context.Context) said.State) *Command {
	return &Command{
		Name:   "status",
		Help:   lang.About(said.Status),
		Admins: true,
		Run: func(ctx context.Context, _ Request) (Reply, error) {
			return Reply{Text: lang.State(state(ctx))}, nil
		},
	}
}

// maxDebug is how long the texts of a chat are logged at most.
const maxDebug = time.Hour

// Podsluch lets admins have the texts of a chat logged. It begins once that was
// said there: nobody's words go into a log unknown to them. debug is given the
// time when it ends, the zero time for at once, and returns what begins it, nil
// if enough chats are logged already.
func Podsluch(lang said.Lang, prefix string, debug func(chat transport.Chat, until time.Time) (begin func())) *Command {
	names := []string{"podsłuch", "debug"}
	param := asked.Param{Name: "switch", Kind: asked.Word}
	on, off := []string{"włącz", "on"}, []string{"wyłącz", "off"}
	return &Command{
		Name:    names[0],
		Aliases: names[1:],
		Params:  []asked.Param{param},
		Help:    lang.About(said.Debug),
		Admins:  true,
		Run: func(_ context.Context, r Request) (Reply, error) {
			switch typed := r.Args[param.Name].Text; {
			case oneOf(typed, on):
				until := r.At.Add(maxDebug).Truncate(time.Minute) // it is said in minutes
				begin := debug(r.Chat, until)
				if begin == nil {
					return Reply{Text: lang.DebugFull()}, nil
				}
				return Reply{
					Text:  lang.DebugOn(until, prefix+inLang(lang, names)+" "+inLang(lang, off)),
					After: func(context.Context) error { begin(); return nil },
				}, nil
			case oneOf(typed, off):
				debug(r.Chat, time.Time{})
				return Reply{Text: lang.DebugOff()}, nil
			default:
				return Reply{}, &asked.Misfit{Reason: asked.Unfit, Param: param, Got: typed}
			}
		},
	}
}
