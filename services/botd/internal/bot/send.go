package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/fault"
	"quartet/services/botd/internal/outbox"
	"quartet/services/botd/internal/pages"
	"quartet/services/botd/internal/transport"
)

// send sends a reply to the chat that the message came from, whose turn it is.
// While Signal wants nothing it waits for that before it begins.
func (b *Bot) send(ctx context.Context, m *message, chat transport.Chat) error {
	if err := b.awaitLeave(ctx, m); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", errLeft, err)
		}
		return err
	}
	if err := b.begin(ctx, m); err != nil {
		return err
	}
	fault.Point(fault.Begun)
	err := b.sendParts(ctx, m, chat)
	// A server that is not there has nothing of it, and may be back in time.
	for errors.Is(err, outbox.ErrUnreachable) && !errors.Is(err, transport.ErrOutcomeUnknown) && b.awaitLeave(ctx, m) == nil {
		err = b.sendParts(ctx, m, chat)
	}
	fault.Point(fault.Sent)
	if m.kept && ctx.Err() != nil && neverLeft(err) {
		return b.putBack(ctx, m, context.Cause(ctx))
	}
	return err
}

// neverLeft reports whether a send failed before the server had anything of it:
// what it has refused it would refuse again.
func neverLeft(err error) bool {
	_, refused := errors.AsType[*transport.Error](err)
	return err != nil && !refused && !errors.Is(err, transport.ErrOutcomeUnknown)
}

// awaitLeave waits while Signal wants nothing, as long as somebody waits for the
// answer: that is its time.
func (b *Bot) awaitLeave(ctx context.Context, m *message) error {
	if b.Out.Paused() == nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, m.at.Add(b.options.MaxAge))
	defer cancel()
	_, pause := timing.Send(ctx, b.chats, "pause")
	err := b.Out.Wait(ctx)
	pause.End(true, err)
	return err
}

func (b *Bot) sendParts(ctx context.Context, m *message, chat transport.Chat) error {
	for i, out := range b.parts(m, chat) {
		if err := b.sendOne(ctx, m, out); err != nil {
			if i > 0 { // the asker has something, so the whole is neither sent nor unsent
				err = fmt.Errorf("part %d: %w: %w", i+1, transport.ErrOutcomeUnknown, err)
			}
			return err
		}
	}
	return nil
}

// parts is a reply as messages.
func (b *Bot) parts(m *message, chat transport.Chat) []transport.Outgoing {
	texts := pages.Split(m.reply.Text, pages.Limit) // a longer one signal-cli would upload as a file
	if len(texts) == 0 {
		texts = []string{""} // a picture without words
	}
	all := make([]transport.Outgoing, len(texts))
	for i, text := range texts {
		all[i] = transport.Outgoing{Chat: chat, Text: text}
	}
	b.dress(&all[0], m)
	return all
}

// dress puts on the first part what only one can have: the picture, and the
// quote of the question.
func (b *Bot) dress(out *transport.Outgoing, m *message) {
	if p := m.reply.Picture; p != nil {
		out.Attachment = &transport.Attachment{
			ContentType: p.ContentType,
			Filename:    m.command.Name + p.Extension(),
			Data:        p.Data,
		}
	}
	if b.options.Quote && m.in.Timestamp != 0 && m.in.Sender != selftestSender {
		out.Quote = &transport.Quote{Timestamp: m.in.Timestamp, Author: m.in.Sender, Text: pages.Shorten(m.in.Text, maxQuote)}
	}
}

// maxQuote is how much of a question is quoted, in bytes.
const maxQuote = 200

func (b *Bot) sendOne(ctx context.Context, m *message, out transport.Outgoing) error {
	ctx, cancel := context.WithTimeout(ctx, b.options.SendTimeout)
	defer cancel()
	receipt, err := b.Out.Send(ctx, out)
	if err != nil {
		b.notSent(ctx, m, err)
		return err
	}
	if len(receipt.Failed) > 0 {
		b.Log.LogAttrs(ctx, slog.LevelWarn, "reply did not reach everybody", slog.String("command", m.command.Name),
			slog.Int("recipients", len(receipt.Failed)), slog.String("reason", receipt.Failed[0].Reason))
	}
	return nil
}

// notSent reports a reply that did not certainly go out.
func (b *Bot) notSent(ctx context.Context, m *message, err error) {
	level := slog.LevelWarn
	if refused, ok := errors.AsType[*transport.Error](err); ok && refused.Action().Alert {
		level = slog.LevelError
	}
	b.Log.LogAttrs(ctx, level, "reply not sent", slog.String("command", m.command.Name),
		slog.Bool("outcome_unknown", errors.Is(err, transport.ErrOutcomeUnknown)), slog.Any("err", err))
}

// end closes the record: one line in the log, the histograms, the span.
func (b *Bot) end(ctx context.Context, m *message) {
	fault.Point(fault.Settled)
	outcome := outcomeOf(m.err)
	times := m.rec.End(outcome, m.err)
	b.recent.add(outcome, times)
	b.Log.LogAttrs(ctx, slog.LevelDebug, "served", slog.String("command", m.command.Name),
		slog.String("outcome", outcome.String()), slog.Any("timing", times))
	b.debugged.log(ctx, b.Log, m)
	m.end(verdict{outcome, times, m.err})
}

// outcomeOf sorts errors into the outcomes that every service reports.
func outcomeOf(err error) timing.Outcome {
	switch {
	case err == nil:
		return timing.OK
	case errors.Is(err, errCooldown), errors.Is(err, errRefused), isMisfit(err):
		return timing.Rejected
	case errors.Is(err, errPanic), errors.Is(err, errNotNoted):
		return timing.InternalError
	case errors.Is(err, context.DeadlineExceeded):
		return timing.Timeout
	case errors.Is(err, context.Canceled):
		return timing.Canceled
	}
	return timing.UpstreamError
}

// isMisfit reports whether a command was given what does not fit it.
func isMisfit(err error) bool {
	_, ok := errors.AsType[*asked.Misfit](err)
	return ok
}

// chatty is how a reply is shown in a log, where that is switched on.
func chatty(r *command.Reply) string {
	if r.Picture != nil {
		return r.Text + "[picture]"
	}
	return r.Text
}
