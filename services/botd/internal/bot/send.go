package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/pages"
	"quartet/services/botd/internal/transport"
)

// send sends a reply to the chat that the message came from. Nothing to say is
// no error.
func (b *Bot) send(ctx context.Context, m *message, reply command.Reply) error {
	if reply.Text == "" && reply.Picture == nil {
		return nil
	}
	if err := b.begin(ctx, m); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.options.SendTimeout)
	defer cancel()
	parts := pages.Split(reply.Text, pages.Limit) // a longer one signal-cli would upload as a file
	if len(parts) == 0 {
		parts = []string{""} // a picture without words
	}
	for i, part := range parts {
		out := transport.Outgoing{Chat: chatOf(m), Text: part}
		if i == 0 {
			b.dress(&out, m, reply)
		}
		if err := b.sendOne(ctx, m, out); err != nil {
			if i > 0 { // the asker has something, so the whole is neither sent nor unsent
				err = fmt.Errorf("part %d of %d: %w: %w", i+1, len(parts), transport.ErrOutcomeUnknown, err)
			}
			return err
		}
	}
	return nil
}

// dress puts on the first part what only one can have: the picture, and the
// quote of the question.
func (b *Bot) dress(out *transport.Outgoing, m *message, reply command.Reply) {
	if p := reply.Picture; p != nil {
		out.Attachment = &transport.Attachment{
			ContentType: p.ContentType,
			Filename:    m.command.Name + p.Extension(),
			Data:        p.Data,
		}
	}
	if b.options.Quote && m.in.Sender != selftestSender {
		out.Quote = &transport.Quote{Timestamp: m.in.Timestamp, Author: m.in.Sender, Text: pages.Shorten(m.in.Text, maxQuote)}
	}
}

// maxQuote is how much of a question is quoted, in bytes.
const maxQuote = 200

func (b *Bot) sendOne(ctx context.Context, m *message, out transport.Outgoing) error {
	receipt, err := b.Signal.Send(ctx, out)
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

// notSent reports a reply that did not certainly go out. It is not sent again
// here: it may have arrived.
func (b *Bot) notSent(ctx context.Context, m *message, err error) {
	level := slog.LevelWarn
	if refused, ok := errors.AsType[*transport.Error](err); ok {
		b.Counters.refused(ctx, refused.Class)
		if refused.Action().Alert {
			level = slog.LevelError
		}
	}
	b.Log.LogAttrs(ctx, level, "reply not sent", slog.String("command", m.command.Name),
		slog.Bool("outcome_unknown", errors.Is(err, transport.ErrOutcomeUnknown)), slog.Any("err", err))
}

// chatOf is where an answer belongs: where the question was asked.
func chatOf(m *message) transport.Chat {
	if m.in.GroupID != "" {
		return transport.Chat{Group: m.in.GroupID}
	}
	return transport.Chat{User: m.in.Sender}
}

// end closes the record: one line in the log, the histograms, the span.
func (b *Bot) end(ctx context.Context, m *message, err error) {
	outcome := outcomeOf(err)
	times := m.rec.End(outcome, err)
	b.Log.LogAttrs(ctx, slog.LevelDebug, "served", slog.String("command", m.command.Name),
		slog.String("outcome", outcome.String()), slog.Any("timing", times))
	m.end(verdict{outcome, times, err})
}

// outcomeOf sorts errors into the outcomes that every service reports.
func outcomeOf(err error) timing.Outcome {
	switch {
	case err == nil:
		return timing.OK
	case errors.Is(err, errCooldown), isMisfit(err):
		return timing.Rejected
	case errors.Is(err, errPanic):
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
