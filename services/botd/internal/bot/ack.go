package bot

import (
	"context"
	"log/slog"
	"time"

	"quartet/services/botd/internal/transport"
)

// Ways to show that a command was heard; anything else is an emoji.
const (
	AckNone   = "none"
	AckTyping = "typing"
)

// asideTimeout bounds what goes to Signal's server beside an answer.
const asideTimeout = 10 * time.Second

// acknowledge shows the asker that the command was heard. The answer does not
// wait for it, and when too many are under way there is none.
func (b *Bot) acknowledge(m *message) {
	if b.options.Ack == "" || b.options.Ack == AckNone || m.in.Timestamp == 0 || m.in.Sender == selftestSender || b.Out.Paused() != nil {
		return
	}
	chat, author, sent := chatOf(&m.in), m.in.Sender, m.in.Timestamp
	b.beside("acknowledge a command", func(ctx context.Context) error {
		if b.options.Ack == AckTyping {
			return b.Signal.Typing(ctx, chat, true)
		}
		return b.Signal.React(ctx, transport.Reaction{Chat: chat, Emoji: b.options.Ack, Author: author, Timestamp: sent})
	})
}

// beside does something at Signal's server that no answer waits for, or nothing
// when too much of that is under way. It never waits.
func (b *Bot) beside(what string, do func(context.Context) error) {
	if !b.asides.TryTake(1) {
		return
	}
	go func() {
		defer b.asides.Give(1)
		// Not the answer's context: that may be out before, and its time is its own.
		ctx, cancel := context.WithTimeout(context.Background(), asideTimeout)
		defer cancel()
		if err := do(ctx); err != nil {
			b.Log.LogAttrs(ctx, slog.LevelDebug, "not done beside an answer", slog.String("what", what), slog.Any("err", err))
		}
	}()
}
