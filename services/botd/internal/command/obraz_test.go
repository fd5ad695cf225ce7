package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/upstream"
)

func TestObrazAnswersWithPictureAndCredit(t *testing.T) {
	var got string
	obraz := command.Obraz(said.English, func(_ context.Context, words string) (upstream.Picture, said.Credit, error) {
		got = words
		return upstream.Picture{Data: []byte("x")}, said.Credit{Title: "Cat", Author: "Ada", Licence: "CC BY 4.0", Source: "https://commons.example/Cat"}, nil
	})
	args, err := asked.Call{Text: " czarny  kot "}.Fit(obraz.Params)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := obraz.Run(t.Context(), command.Request{Args: args})
	if err != nil || got != "czarny  kot" || reply.Picture == nil || string(reply.Picture.Data) != "x" {
		t.Errorf("asked for %q, %+v, %v", got, reply, err)
	}
	for _, part := range []string{"Cat", "Ada", "CC BY 4.0", "https://commons.example/Cat"} {
		if !strings.Contains(reply.Text, part) {
			t.Errorf("%q is not in the caption %q", part, reply.Text)
		}
	}
}

func TestObrazWantsWords(t *testing.T) {
	obraz := command.Obraz(said.Polish, nil)
	_, err := asked.Call{}.Fit(obraz.Params)
	if m, ok := errors.AsType[*asked.Misfit](err); !ok || m.Reason != asked.Missing {
		t.Errorf("without words: %v", err)
	}
}

func TestObrazTellsNothingFoundFromFailure(t *testing.T) {
	down := errors.New("down")
	for _, tt := range []struct {
		err, want error
		says      string
	}{
		{err: errors.Join(errors.New("search"), upstream.ErrNoPicture), says: "Nie mam zdjęcia na hasło „smok”."},
		{err: down, want: down},
	} {
		obraz := command.Obraz(said.Polish, func(context.Context, string) (upstream.Picture, said.Credit, error) {
			return upstream.Picture{}, said.Credit{}, tt.err
		})
		reply, err := obraz.Run(t.Context(), command.Request{Args: asked.Args{"words": {Given: true, Text: "smok"}}})
		if !errors.Is(err, tt.want) || reply.Text != tt.says || reply.Picture != nil {
			t.Errorf("%v: %+v, %v", tt.err, reply, err)
		}
	}
}
