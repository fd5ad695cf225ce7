package signalnet

import (
	"context"
	"time"
)

// Sign is a small thing that the bot lets the chat see.
type Sign struct {
	Kind         string   // typing, stopped, reaction, unreaction, receipt or remote_delete
	Via          string   // rest or rpc
	Groups       []string // internal ids; none = a direct chat
	Recipient    string   // of a direct chat
	Emoji        string
	TargetAuthor string
	Timestamp    int64 // ms; of the message that is reacted to, was read or is taken back
}

// Show plays a typing indicator, a reaction, a receipt or the deletion of a
// message, begun at.
func (n *Network) Show(ctx context.Context, at time.Time, number string, s Sign) Outcome {
	operation, counter := Reaction, &n.Reactions
	switch s.Kind {
	case "typing":
		operation, counter = Typing, &n.TypingStarted
	case "stopped":
		operation, counter = Typing, &n.TypingStopped
	case "receipt":
		operation, counter = Receipt, &n.Receipts
	case "remote_delete":
		operation, counter = Manage, &n.Deletes
	}
	if n.Latency.Wait(ctx, operation, at) != nil {
		return Outcome{Failure: failure("transient")}
	}
	c := Call{Kind: s.Kind, Via: s.Via, Begin: at, Recipient: s.Recipient, Emoji: s.Emoji, TargetAuthor: s.TargetAuthor, Timestamp: s.Timestamp}
	if len(s.Groups) > 0 {
		c.Group = s.Groups[0]
	}
	if f := n.forbidsSign(number, s); f != nil {
		n.note(c, f)
		return Outcome{Failure: f}
	}
	counter.Add(1)
	n.note(c, nil)
	if n.OnSign != nil {
		n.OnSign(s)
	}
	return Outcome{Timestamp: n.clock.unique("", time.Now())}
}

// forbidsSign says why a sign does not get through, nil if it does.
func (n *Network) forbidsSign(number string, s Sign) *Failure {
	if !n.HasAccount(number) {
		return failure("account")
	}
	for _, id := range s.Groups {
		if g, _ := n.GroupByID(id); g.Left {
			return notMember(g)
		}
	}
	return nil
}
