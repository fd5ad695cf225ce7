package command

import (
	"context"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/said"
)

// groupParam is a group's id, as the notice about an unknown group has it.
func groupParam() asked.Param { return asked.Param{Name: "group", Kind: asked.Word, Optional: true} }

// Dopusc lets admins allow a group: the one they ask in, or one by its id.
func Dopusc(lang said.Lang, allow func(group string) error) *Command {
	return &Command{
		Name:    "dopuść",
		Aliases: []string{"allow"},
		Params:  []asked.Param{groupParam()},
		Help:    lang.About(said.Allow),
		Admins:  true,
		Run: func(_ context.Context, r Request) (Reply, error) {
			group, title, err := groupOf(r)
			if err != nil {
				return Reply{}, err
			}
			return decided(lang, lang.GroupAllowed(title), allow(group))
		},
	}
}

// Opusc lets admins make the bot leave a group. The bot says so first, and if
// it is invited again it stays silent until the group is allowed again.
func Opusc(lang said.Lang, forbid func(group string) error, leave func(ctx context.Context, group string) error) *Command {
	return &Command{
		Name:    "opuść",
		Aliases: []string{"leave"},
		Params:  []asked.Param{groupParam()},
		Help:    lang.About(said.Leave),
		Admins:  true,
		Run: func(_ context.Context, r Request) (Reply, error) {
			group, title, err := groupOf(r)
			if err != nil {
				return Reply{}, err
			}
			reply, err := done(lang.GroupLeft(title), forbid(group))
			if err != nil {
				return Reply{}, err
			}
			reply.After = func(ctx context.Context) error { return leave(ctx, group) }
			return reply, nil
		},
	}
}

// groupOf returns the internal id of the group that an admin means, and its
// title where that is known. The error is an *asked.Misfit.
func groupOf(r Request) (id, title string, err error) {
	param := groupParam()
	given := r.Args[param.Name]
	switch {
	case !given.Given && r.Chat.Group == "":
		return "", "", &asked.Misfit{Reason: asked.Missing, Param: param}
	case !given.Given, given.Text == r.Chat.Group:
		return r.Chat.Group, r.Group, nil
	case envelope.IsInternalGroupID(given.Text):
		return given.Text, "", nil
	}
	return "", "", &asked.Misfit{Reason: asked.Unfit, Param: param, Got: given.Text}
}
