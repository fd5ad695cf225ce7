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
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/fault"
)

// errCooldown ends a request whose sender has to wait first.
var errCooldown = errors.New("cooldown")

// errRefused ends a request for what the asker may not have here.
var errRefused = errors.New("refused")

// errPanic ends a request whose command panicked.
var errPanic = errors.New("command panicked")

// failurePause is how long somebody whose use failed waits at least, where there
// is a cooldown: each try may be a question to others.
const failurePause = 5 * time.Second

// handle runs the command if it may be used here and now, and leaves in m what
// to answer: the reply, or words that say what is wrong. A use that fails is
// given back, but for failurePause.
func (b *Bot) handle(ctx context.Context, m *message) {
	m.rec.Enter(timing.Compute)
	r, commands := b.request(m), b.commands.Load()
	if verdict := commands.Check(m.command, r); verdict != command.Allowed {
		// What somebody may not have takes no cooldown from those who may.
		m.err = errRefused
		if b.refused.first(r.Sender, b.now()) {
			m.reply.Text = commands.Refused(m.command, verdict)
		}
		return
	}
	if !b.reserve(m, r) {
		return
	}
	fault.Point(fault.Reserved)
	var err error
	if r.Args, err = m.call.Fit(m.command.Params); err == nil {
		b.acknowledge(m)
		if m.counted = !m.command.Uncounted && !b.People.OptedOut(m.in.Sender); m.counted {
			r.Uses = b.People.Uses(m.in.Sender) + 1 // it is counted when the answer begins
		}
		m.reply, err = b.run(ctx, m, r)
	}
	m.err = err
	misfit, isMisfit := errors.AsType[*asked.Misfit](err)
	switch {
	case isMisfit:
		// The use counts: what does not fit is not to be tried all day.
		m.reply = command.Reply{Text: b.Lang.BadArguments(misfit, commands.Usage(m.command))}
	case err != nil:
		b.Log.LogAttrs(ctx, slog.LevelWarn, "command did not succeed", slog.String("command", m.command.Name), slog.Any("err", err))
		m.use.Fail(failurePause)
		m.reply = command.Reply{}
		if b.failed.first(r.Sender, b.now()) { // a use that is given back must not be a way to make us talk
			m.reply.Text = b.Lang.Failed()
		}
	case m.reply.Picture != nil:
		b.ration(m)
	}
	m.counted = m.counted && (m.err == nil || isMisfit) // what came to nothing is no use
}

// reserve marks the command as used, before it runs: of two at once only one
// can pass. Admins wait for nothing.
func (b *Bot) reserve(m *message, r command.Request) bool {
	if r.Admin {
		return true
	}
	limits := m.command.Limits
	if d, set := b.Rules.Limits(m.command.Name, r.Chat); set {
		limits.User, limits.UserGroup = 0, d
		if r.Chat.Group == "" {
			limits.User, limits.UserGroup = d, 0
		}
	}
	use := cooldown.Use{Person: r.Sender, Group: r.Chat.Group, Command: m.command.Name}
	reserved, refusal, ok := b.Gate.Reserve(use, limits, b.now())
	if !ok {
		m.err = errCooldown
		if refusal.First { // a flood gets no second answer
			m.reply.Text = b.Lang.Wait(b.commands.Load().Shown(m.command), refusal.Wait)
		}
		return false
	}
	m.use = reserved
	return true
}

// ration keeps pictures to what Signal puts up with.
func (b *Bot) ration(m *message) {
	if wait, ok := b.Out.Picture(); !ok {
		m.use.Fail(failurePause) // the picture was fetched
		m.reply, m.err = command.Reply{}, errRefused
		if b.failed.first(m.in.Sender, b.now()) {
			m.reply.Text = b.Lang.TooManyPictures(wait)
		}
	}
}

// run calls the command. A panic ends this request and no other.
func (b *Bot) run(ctx context.Context, m *message, r command.Request) (reply command.Reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.options.CommandTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
			b.Log.LogAttrs(ctx, slog.LevelError, "command panicked", slog.String("command", m.command.Name),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
	}()
	return m.command.Run(ctx, r)
}
