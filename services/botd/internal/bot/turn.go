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
		b.finish(ctx, m, interrupted(ctx, m))
		return
	}
	chat, weight := chatOf(&m.in), weigh(&m.reply)+weight(&m.in)
	if b.Out.TryTurn(chat) {
		m.inTurn = true
		b.deliver(ctx, m, chat)
		return
	}
	// Signal has not confirmed the message before this one: that is its time.
	_, turn := timing.Send(ctx, b.chats, "turn")
	if b.replies.TryTake(weight) {
		// outgoing has room for as many as replies, so this does not wait.
		b.Out.Queue(chat, func() {
			b.outgoing <- func() {
				defer b.survive(ctx, m)
				m.inTurn = true
				turn.End(true, nil)
				defer b.replies.Give(weight)
				b.deliver(ctx, m, chat)
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
	m.inTurn = true
	b.deliver(ctx, m, chat)
}

// interrupted is why a message to which nothing is said is not over: it may have
// come to nothing because of a stop.
func interrupted(ctx context.Context, m *message) error {
	if m.err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errLeft, ctx.Err())
	}
	return nil
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
	b.replies.Close() // who is still in a slot keeps it
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
	m.inTurn = false
	b.Out.Done(chat)
	b.finish(ctx, m, err)
}

// finish ends a message: what became of it is noted, its record is closed, its
// sender's next one may come.
func (b *Bot) finish(ctx context.Context, m *message, sendErr error) {
	m.over = true
	defer b.senders.Unlock(m.in.Sender)
	if errors.Is(sendErr, ledger.ErrCancelled) {
		b.takeBackUse(ctx, m)
		b.drop(ctx, m, dropDeleted)
		return
	}
	b.settle(ctx, m, sendErr)
	if sendErr != nil {
		m.err = sendErr
	}
	if m.reply.After != nil && (sendErr == nil || takesNone(sendErr)) {
		b.follow(ctx, m)
	}
	if !errors.Is(sendErr, errLeft) {
		b.deleteAttachments(&m.in)
	}
	b.end(ctx, m)
}

// takeBackUse gives back the use of a command that nothing came of, also where a
// checkpoint has it already.
func (b *Bot) takeBackUse(ctx context.Context, m *message) {
	defer b.Store.Step()()
	if err := b.Store.Append(m.use.Refund()...); err != nil {
		b.Log.LogAttrs(ctx, slog.LevelError, "not noted that a use does not count", slog.Any("err", err))
	}
}

// takesNone reports whether a reply could not be sent because its chat takes none.
func takesNone(err error) bool {
	refused, ok := errors.AsType[*transport.Error](err)
	return ok && refused.Class == transport.ClassChat
}

// follow does what is to follow an answer that was sent, or could not be.
func (b *Bot) follow(ctx context.Context, m *message) {
	ctx, cancel := context.WithTimeout(ctx, b.options.SendTimeout)
	defer cancel()
	if err := m.reply.After(ctx); err != nil {
		b.Log.LogAttrs(ctx, slog.LevelError, "not done what was to follow an answer", slog.String("command", m.command.Name), slog.Any("err", err))
	}
}
