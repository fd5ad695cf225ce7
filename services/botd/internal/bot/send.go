package bot

import (
	"context"
	"errors"
	"log/slog"

	"quartet/kit/timing"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/signalapi"
)

// send sends a reply to the chat that the message came from. Nothing to say is
// no error.
func (b *Bot) send(ctx context.Context, m *message, reply command.Reply) error {
	if reply.Text == "" && reply.Picture == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.options.SendTimeout)
	defer cancel()
	out := signalapi.Outgoing{Recipient: m.in.Chat(), Text: reply.Text}
	if p := reply.Picture; p != nil {
		out.Attachment = &signalapi.Attachment{
			ContentType: p.ContentType,
			Filename:    m.command.Name + p.Extension(),
			Data:        p.Data,
		}
	}
	receipt, err := b.Signal.Send(ctx, out)
	if err != nil {
		// It is not sent again here: it may have arrived.
		b.Log.LogAttrs(ctx, slog.LevelWarn, "reply not sent", slog.String("command", m.command.Name),
			slog.Bool("outcome_unknown", errors.Is(err, signalapi.ErrOutcomeUnknown)), slog.Any("err", err))
		return err
	}
	if len(receipt.Failed) > 0 {
		b.Log.LogAttrs(ctx, slog.LevelWarn, "reply did not reach everybody", slog.String("command", m.command.Name),
			slog.Int("recipients", len(receipt.Failed)), slog.String("reason", receipt.Failed[0].Reason))
	}
	return nil
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
	case errors.Is(err, errCooldown):
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
