package command

import (
	"context"
	"errors"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/upstream"
)

// Obraz answers with a picture that find has for any words, and under it whose
// it is. That there is none is an answer like others and no failure.
func Obraz(lang said.Lang, find func(ctx context.Context, words string) (upstream.Picture, said.Credit, error)) *Command {
	words := asked.Param{Name: "words", Kind: asked.Rest}
	return &Command{
		Name:    "obraz",
		Aliases: []string{"picture"},
		Params:  []asked.Param{words},
		Help:    lang.About(said.Picture),
		Run: func(ctx context.Context, r Request) (Reply, error) {
			typed := r.Args[words.Name].Text
			picture, credit, err := find(ctx, typed)
			if errors.Is(err, upstream.ErrNoPicture) {
				return Reply{Text: lang.NoPicture(typed)}, nil
			}
			if err != nil {
				return Reply{}, err
			}
			return Reply{Text: lang.Caption(credit), Picture: &picture}, nil
		},
	}
}
