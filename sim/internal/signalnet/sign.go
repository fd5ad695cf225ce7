package signalnet

import (
	"context"
	"time"
)

// Sign is a small thing that the bot lets the chat see.
type Sign struct {
	Kind         string   // typing, stopped, reaction, unreaction or receipt
	Groups       []string // internal ids; none = a direct chat
	Emoji        string
	TargetAuthor string
	Timestamp    int64 // ms; of the message that is reacted to or was read
}

// Show plays a typing indicator, a reaction or a receipt, begun at.
func (n *Network) Show(ctx context.Context, at time.Time, number string, s Sign) Outcome {
	operation, counter := Reaction, &n.Reactions
	switch s.Kind {
	case "typing":
		operation, counter = Typing, &n.TypingStarted
	case "stopped":
		operation, counter = Typing, &n.TypingStopped
	case "receipt":
		operation, counter = Receipt, &n.Receipts
	}
	if n.Latency.Wait(ctx, operation, at) != nil {
		return Outcome{Failure: failure("transient")}
	}
	if !n.HasAccount(number) {
		return Outcome{Failure: failure("account")}
	}
	counter.Add(1)
	if n.OnSign != nil {
		n.OnSign(s)
	}
	return Outcome{Timestamp: n.clock.unique("", time.Now())}
}
