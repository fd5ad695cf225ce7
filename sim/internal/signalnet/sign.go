package signalnet

import (
	"context"
	"time"
)

// Sign is a small thing that the bot lets the chat see.
type Sign struct {
	Kind         string // typing, stopped, reaction or unreaction
	Group        string // internal id; empty = a direct chat
	Emoji        string
	TargetAuthor string
	Timestamp    int64 // ms; of the message that is reacted to
}

// Show plays a typing indicator or a reaction.
func (n *Network) Show(ctx context.Context, at time.Time, number string, s Sign) *Failure {
	operation := Reaction
	if s.Kind == "typing" || s.Kind == "stopped" {
		operation = Typing
	}
	if n.Latency.Wait(ctx, operation, at) != nil {
		return failure("transient")
	}
	if !n.HasAccount(number) {
		return failure("account")
	}
	switch s.Kind {
	case "typing":
		n.TypingStarted.Add(1)
	case "stopped":
		n.TypingStopped.Add(1)
	default:
		n.Reactions.Add(1)
	}
	if n.OnSign != nil {
		n.OnSign(s)
	}
	return nil
}
