package command_test

import (
	"context"
	"errors"
	"testing"

	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/upstream"
)

func TestKotPassesOnPictureAndError(t *testing.T) {
	down := errors.New("down")
	answers := []error{nil, down}
	kot := command.Kot(said.Polish, func(context.Context) (upstream.Picture, error) {
		err := answers[0]
		answers = answers[1:]
		return upstream.Picture{Data: []byte("x")}, err
	})
	if reply, err := kot.Run(t.Context(), command.Request{}); err != nil || reply.Picture == nil || string(reply.Picture.Data) != "x" {
		t.Errorf("first cat: %+v, %v", reply, err)
	}
	if reply, err := kot.Run(t.Context(), command.Request{}); !errors.Is(err, down) || reply.Picture != nil {
		t.Errorf("second cat: %+v, %v; want the error and no picture", reply, err)
	}
}
