package command

import (
	"context"
	"fmt"
)

// Ja tells people what the bot knows about them: their profile name and how
// many commands they have used.
func Ja() *Command {
	return &Command{
		Name: "ja",
		Help: "co o Tobie wiem",
		Run: func(_ context.Context, r Request) (Reply, error) {
			name := r.Name
			if name == "" {
				name = "Ktoś bez nazwy"
			}
			return Reply{Text: fmt.Sprintf("%s, poleceń od mojego startu: %d.", name, r.Uses)}, nil
		},
	}
}
