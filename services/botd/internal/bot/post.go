package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/transport"
)

// postName is what a post is called in metrics.
const postName = "_schedule"

// Post writes to a chat what nobody asked for at that moment: a text, or what a
// command answers to a call, with its prefix. Where an admin does not want that it
// is refused. Whether it is due, and that it is once, is the caller's business.
func (b *Bot) Post(ctx context.Context, chat transport.Chat, text, call string) error {
	m := &message{at: time.Now()}
	m.rec.Start(m.at)
	ctx = m.rec.Begin(ctx, b.Instruments.Operation(postName), trace.SpanKindInternal)
	err := b.postReply(ctx, m, chat, text, call)
	m.rec.End(outcomeOf(err), err)
	return err
}

func (b *Bot) postReply(ctx context.Context, m *message, chat transport.Chat, text, call string) error {
	if chat.Group != "" && b.Rules.Forbidden(chat.Group) {
		return fmt.Errorf("%w: an admin had the bot leave this group", errRefused)
	}
	if b.Out.Parked(chat) {
		return errors.New("the chat lately could not be written to")
	}
	m.rec.Enter(timing.Compute)
	m.command, m.reply = &command.Command{Name: postName}, command.Reply{Text: text}
	if call != "" {
		if err := b.call(ctx, m, chat, call); err != nil {
			return err
		}
	}
	if err := b.awaitRation(ctx, m); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.options.SendTimeout)
	defer cancel()
	if err := b.awaitLeave(ctx, m); err != nil {
		return err
	}
	_, turn := timing.Send(ctx, b.chats, "turn")
	err := b.Out.Turn(ctx, chat)
	turn.End(true, err)
	if err != nil {
		return err
	}
	defer b.Out.Done(chat)
	return b.sendParts(ctx, m, chat)
}

// awaitRation waits until a picture may go out: a post has the time that people
// do not have.
func (b *Bot) awaitRation(ctx context.Context, m *message) error {
	if m.reply.Picture == nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, m.at.Add(b.options.MaxAge))
	defer cancel()
	for {
		wait, ok := b.Out.Picture()
		if ok {
			return nil
		}
		if !sleep(ctx, wait) {
			return fmt.Errorf("wait for the pictures before: %w", ctx.Err())
		}
	}
}

// call runs the command of a call for a chat.
func (b *Bot) call(ctx context.Context, m *message, chat transport.Chat, call string) error {
	read, _ := b.Reader.Read(call, nil)
	found := b.commands.Load().Find(read.Name)
	if found == nil {
		return errors.New("there is no such command any more")
	}
	if b.Rules.Off(found.Name, chat) {
		return fmt.Errorf("%w: an admin has switched %s off there", errRefused, found.Name)
	}
	args, err := read.Fit(found.Params)
	if misfit, ok := errors.AsType[*asked.Misfit](err); ok {
		return fmt.Errorf("call %s: %w", found.Name, misfit)
	}
	m.command = found
	m.reply, err = b.run(ctx, m, command.Request{Chat: chat, Args: args, Text: read.Text, At: m.at})
	return err
}
