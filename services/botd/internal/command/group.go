package command

import (
	"context"
	"errors"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
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

// Opusc lets admins make the bot leave a group. The bot says so first, where it
// may write there, and if it is invited again it stays silent until the group is
// allowed again.
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
			reply.After = func(ctx context.Context) error { return unlessGone(leave(ctx, group)) }
			return reply, nil
		},
	}
}

// groupOf returns the internal id of the group that an admin means, and what to
// call it: by its title, or as the admin did. The error is an *asked.Misfit.
func groupOf(r Request) (id, title string, err error) {
	param := groupParam()
	given := r.Args[param.Name]
	switch {
	case !given.Given && r.Chat.Group == "":
		return "", "", &asked.Misfit{Reason: asked.Missing, Param: param}
	case !given.Given, given.Text == r.Chat.Group:
		return r.Chat.Group, r.Group, nil
	case envelope.IsInternalGroupID(given.Text):
		return given.Text, given.Text, nil
	}
	return "", "", &asked.Misfit{Reason: asked.Unfit, Param: param, Got: given.Text}
}

// unlessGone is the error of leaving a group, but for one that we are not in.
func unlessGone(err error) error {
	if refused, ok := errors.AsType[*transport.Error](err); ok && refused.Class == transport.ClassChat {
		return nil
	}
	return err
}
