package command

import (
	"context"

	"quartet/services/botd/internal/upstream"
)

// Kot answers with the picture of a cat that random returns.
func Kot(random func(context.Context) (upstream.Picture, error)) *Command {
	return &Command{
		Name: "kot",
		Help: "zdjęcie kota",
		Run: func(ctx context.Context, _ Request) (Reply, error) {
			picture, err := random(ctx)
			if err != nil {
				return Reply{}, err
			}
			return Reply{Picture: &picture}, nil
		},
	}
}
