package command

import (
	"context"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/said"
)

// personParam is somebody mentioned, or a uuid: in a direct chat nobody else
// can be mentioned.
func personParam() asked.Param { return asked.Param{Name: "person", Kind: asked.Person} }

// Ignoruj lets admins make the bot deaf to somebody who is no admin.
func Ignoruj(lang said.Lang, admin func(asked.Mention) bool, ignore func(person string) error) *Command {
	return &Command{
		Name:    "ignoruj",
		Aliases: []string{"ignore"},
		Params:  []asked.Param{personParam()},
		Help:    lang.About(said.Ignore),
		Admins:  true,
		Run: func(_ context.Context, r Request) (Reply, error) {
			who := r.Args[personParam().Name].Mention
			switch {
			case admin(who), who.UUID == r.Sender:
				return Reply{Text: lang.AdminsHeard()}, nil
			case who.UUID == "":
				return Reply{Text: lang.NoUUID()}, nil
			}
			return decided(lang, lang.PersonIgnored(), ignore(who.UUID))
		},
	}
}

// Sluchaj lets admins take that back.
func Sluchaj(lang said.Lang, hear func(person string) error) *Command {
	return &Command{
		Name:    "słuchaj",
		Aliases: []string{"hear"},
		Params:  []asked.Param{personParam()},
		Help:    lang.About(said.Hear),
		Admins:  true,
		Run: func(_ context.Context, r Request) (Reply, error) {
			who := r.Args[personParam().Name].Mention
			if who.UUID == "" {
				return Reply{Text: lang.NoUUID()}, nil
			}
			return done(lang.PersonHeard(), hear(who.UUID))
		},
	}
}
