package bot

import (
	"context"
	"time"

	"quartet/services/botd/internal/envelope"
)

// triage returns the message to answer, or nil for everything else that comes
// over the wire, with a counted reason. It runs on the reader's goroutine.
func (b *Bot) triage(raw []byte, readAt time.Time) *message {
	ctx := context.Background() // nothing here waits
	in, err := envelope.Parse(raw)
	if err != nil {
		b.Counters.drop(ctx, dropMalformed)
		return nil
	}
	b.Counters.frame(ctx, in.Kind)
	switch {
	case in.Kind != envelope.KindText:
		return nil
	case in.Account != b.Number:
		b.Counters.drop(ctx, dropForeignAccount)
		return nil
	case in.Sender == "":
		b.Counters.drop(ctx, dropNoSender)
		return nil
	case in.Number != "" && in.Number == b.Number:
		b.Counters.drop(ctx, dropOwn) // our own words must never answer themselves
		return nil
	}
	if !b.Reader.Addressed(in.Text, in.Mentions) {
		return nil // people talking to each other
	}
	m := &message{in: in, cost: minCost + weight(&in)}
	m.rec.Start(readAt)
	return m
}

// weight is what the texts of a message weigh, with those of its mentions.
func weight(in *envelope.Message) int64 {
	n := len(in.Text) + len(in.Name) + len(in.Sender) + len(in.Number) + len(in.GroupID)
	for _, m := range in.Mentions {
		n += len(m.UUID) + len(m.Number) + mentionCost
	}
	return int64(n)
}

// mentionCost is what a mention weighs beside its texts.
const mentionCost = 48
