package bot

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"quartet/kit/timing"
)

// dispatch reads the text as a command and names the request after it; found
// is false when there is no such command. From here on ctx carries the record.
func (b *Bot) dispatch(ctx context.Context, m *message) (_ context.Context, found bool) {
	m.rec.Enter(timing.Dispatch)
	name, args, _ := b.Commands.Parse(m.in.Text)
	m.command, m.args = b.Commands.Find(name), args
	if m.command == nil {
		b.drop(ctx, m, dropUnknownCommand)
		return ctx, false
	}
	m.uses = b.tally.Count(m.in.Sender)
	return m.rec.Begin(ctx, b.Instruments.Operation(m.command.Name), trace.SpanKindConsumer), true
}
