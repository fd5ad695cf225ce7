package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
)

// errCooldown ends a request whose sender has to wait first.
var errCooldown = errors.New("cooldown")

// errPanic ends a request whose command panicked.
var errPanic = errors.New("command panicked")

// handle runs the command if its sender's cooldown is over, and returns what
// to answer: the reply, or words that say what is wrong. A use that fails is
// given back; refund does the same for a reply that could not be sent.
func (b *Bot) handle(ctx context.Context, m *message) (reply command.Reply, refund func(), err error) {
	m.rec.Enter(timing.Compute)
	refusal, ok := b.gate.Reserve(m.in.Sender, m.command, time.Now())
	if !ok {
		return b.waitReply(m.command, refusal), func() {}, errCooldown
	}
	refund = func() { b.gate.Refund(m.in.Sender, m.command) }
	args, err := m.call.Fit(m.command.Params)
	if misfit, ok := errors.AsType[*asked.Misfit](err); ok {
		// The use counts: what does not fit is not to be tried all day.
		return command.Reply{Text: b.Lang.BadArguments(misfit, b.Commands.Usage(m.command))}, refund, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.options.CommandTimeout)
	defer cancel()
	reply, err = b.run(ctx, m, args)
	if err != nil {
		refund()
		b.Log.LogAttrs(ctx, slog.LevelWarn, "command did not succeed", slog.String("command", m.command.Name), slog.Any("err", err))
		reply = command.Reply{Text: b.Lang.Failed()}
	}
	return reply, refund, err
}

// run calls the command. A panic ends this request and no other.
func (b *Bot) run(ctx context.Context, m *message, args asked.Args) (reply command.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
			b.Log.LogAttrs(ctx, slog.LevelError, "command panicked", slog.String("command", m.command.Name),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
	}()
	return m.command.Run(ctx, command.Request{
		Sender: m.in.Sender,
		Name:   m.in.Name,
		Group:  m.in.GroupID != "",
		Args:   args,
		Uses:   m.uses,
	})
}

// waitReply tells somebody once how long to wait; a flood gets no second answer.
func (b *Bot) waitReply(c *command.Command, r command.Refusal) command.Reply {
	if !r.First {
		return command.Reply{}
	}
	return command.Reply{Text: b.Lang.Wait(b.Commands.Shown(c), r.Wait)}
}
