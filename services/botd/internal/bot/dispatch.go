package bot

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"quartet/kit/timing"
)

// dispatch reads the text as a command and names the request after it; found
// is false when there is no such command and none that is near. From here on
// ctx carries the record.
func (b *Bot) dispatch(ctx context.Context, m *message) (_ context.Context, found bool) {
	m.rec.Enter(timing.Dispatch)
	m.call, _ = b.Reader.Read(m.in.Text, m.in.Mentions)
	m.command = b.Commands.Find(m.call.Name)
	if m.command == nil {
		m.command = b.Commands.Guess(m.call.Typed)
	}
	if m.command == nil {
		b.drop(ctx, m, dropUnknownCommand)
		return ctx, false
	}
	m.uses = b.Tally.Count(m.in.Sender)
	return m.rec.Begin(ctx, b.Instruments.Operation(m.command.Name), trace.SpanKindConsumer), true
}
