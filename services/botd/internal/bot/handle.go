package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"quartet/kit/timing"
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
		return waitReply(m.command, refusal), func() {}, errCooldown
	}
	refund = func() { b.gate.Refund(m.in.Sender, m.command) }
	ctx, cancel := context.WithTimeout(ctx, b.options.CommandTimeout)
	defer cancel()
	reply, err = b.run(ctx, m)
	if err != nil {
		refund()
		b.Log.LogAttrs(ctx, slog.LevelWarn, "command did not succeed", slog.String("command", m.command.Name), slog.Any("err", err))
		reply = command.Reply{Text: "Nie udało się, spróbuj za chwilę."}
	}
	return reply, refund, err
}

// run calls the command. A panic ends this request and no other.
func (b *Bot) run(ctx context.Context, m *message) (reply command.Reply, err error) {
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
		Args:   m.args,
		Uses:   m.uses,
	})
}

// waitReply tells somebody once how long to wait; a flood gets no second answer.
func waitReply(c *command.Command, r command.Refusal) command.Reply {
	if !r.First {
		return command.Reply{}
	}
	return command.Reply{Text: fmt.Sprintf("Chwila przerwy: następne %s za %d s.", c.Name, seconds(r.Wait))}
}

// seconds rounds up: "wait 0 s" would be a lie.
func seconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}
