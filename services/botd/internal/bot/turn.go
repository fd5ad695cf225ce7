package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"quartet/kit/timing"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/transport"
)

// answer sends a message's reply when it is its chat's turn, and ends the
// message. It runs in the slot that admit took; a reply that has to wait for an
// earlier one to its chat gives the slot up for that time, as long as not too
// much waits so.
func (b *Bot) answer(ctx context.Context, m *message) {
	if m.reply.Text == "" && m.reply.Picture == nil {
		b.finish(ctx, m, nil)
		return
	}
	chat, weight := chatOf(&m.in), weigh(&m.reply)
	if b.Out.TryTurn(chat) {
		b.deliver(ctx, m, chat)
		return
	}
	// Signal has not confirmed the message before this one: that is its time.
	_, turn := timing.Send(ctx, b.chats, "turn")
	if b.replies.TryTake(weight) {
		// outgoing has room for as many as replies, so this does not wait.
		b.Out.Queue(chat, func() {
			b.outgoing <- func() {
				turn.End(true, nil)
				b.deliver(ctx, m, chat)
				b.replies.Give(weight)
			}
		})
		return
	}
	err := b.Out.Turn(ctx, chat)
	turn.End(true, err)
	if err != nil {
		b.finish(ctx, m, fmt.Errorf("%w: %w", errLeft, err))
		return
	}
	b.deliver(ctx, m, chat)
}

// weigh is what a reply weighs while it waits.
func weigh(r *command.Reply) int64 {
	n := minCost + len(r.Text)
	if r.Picture != nil {
		n += len(r.Picture.Data)
	}
	return int64(n)
}

// sendInTurn sends the replies that gave up their slots, as many at once as
// there are slots.
func (b *Bot) sendInTurn(ctx context.Context) error {
	for {
		select {
		case deliver := <-b.outgoing:
			if err := b.sends.Go(ctx, 1, deliver); err != nil {
				deliver() // it notices by itself that ctx has ended, and waits for nothing
			}
		case <-ctx.Done():
			return b.flush()
		}
	}
}

// flush ends what still waits for its chat, one behind the other, once ctx has
// ended.
func (b *Bot) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	for b.replies.Stats().InUse > 0 {
		select {
		case deliver := <-b.outgoing:
			deliver()
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// deliver sends a reply whose chat's turn it is.
func (b *Bot) deliver(ctx context.Context, m *message, chat transport.Chat) {
	err := b.send(ctx, m, chat)
	b.Out.Done(chat)
	b.finish(ctx, m, err)
}

// finish ends a message: what became of it is noted, its record is closed, its
// sender's next one may come.
func (b *Bot) finish(ctx context.Context, m *message, sendErr error) {
	defer b.senders.Unlock(m.in.Sender)
	if errors.Is(sendErr, ledger.ErrCancelled) {
		m.use.Refund()
		b.drop(ctx, m, dropDeleted)
		return
	}
	b.settle(ctx, m, sendErr)
	if sendErr != nil {
		m.err = sendErr
	} else if m.reply.After != nil {
		if err := m.reply.After(ctx); err != nil {
			b.Log.LogAttrs(ctx, slog.LevelError, "not done what was to follow an answer", slog.String("command", m.command.Name), slog.Any("err", err))
		}
	}
	b.deleteAttachments(ctx, m)
	b.end(ctx, m)
}

// deleteAttachments lets the server forget the files of a message that was
// answered.
func (b *Bot) deleteAttachments(ctx context.Context, m *message) {
	if !b.options.DeleteAttachments {
		return
	}
	for _, id := range m.in.Attachments {
		b.beside(ctx, "delete an attachment", func(ctx context.Context) error {
			if err := b.Signal.DeleteAttachment(ctx, id); !errors.Is(err, errors.ErrUnsupported) {
				return err
			}
			return nil
		})
	}
}
