package command

import (
	"context"

	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/upstream"
)

// Kot answers with the picture of a cat that random returns.
func Kot(lang said.Lang, random func(context.Context) (upstream.Picture, error)) *Command {
	return &Command{
		Name:    "kot",
		Aliases: []string{"cat"},
		Help:    lang.About(said.Cat),
		Run: func(ctx context.Context, _ Request) (Reply, error) {
			picture, err := random(ctx)
			if err != nil {
				return Reply{}, err
			}
			return Reply{Picture: &picture}, nil
		},
	}
}
