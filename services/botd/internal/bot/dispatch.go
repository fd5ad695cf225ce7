package bot

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"quartet/kit/timing"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/ledger"
)

// dispatch reads the text as a command and names the request after it; found
// is false when there is no such command and none that is near, when nobody waits
// for an answer any more or its author has taken it back, and when its chat cannot
// be written to: there an admin is how it may be found that it can. From here on
// ctx carries the record.
func (b *Bot) dispatch(ctx context.Context, m *message) (_ context.Context, found bool) {
	m.rec.Enter(timing.Dispatch)
	if b.outlived(m) && m.finished == nil {
		b.drop(ctx, m, dropStale)
		return ctx, false
	}
	if m.kept && b.Ledger.StateOf(ledger.KeyOf(&m.in)) != ledger.Waiting {
		b.drop(ctx, m, dropDeleted)
		return ctx, false
	}
	if !b.circle.admin(&m.in) && b.Out.Parked(chatOf(&m.in)) {
		b.drop(ctx, m, dropChatParked)
		return ctx, false
	}
	m.call, _ = b.Reader.Read(m.in.Text, m.in.Mentions)
	commands := b.commands.Load()
	m.command = commands.Find(m.call.Name)
	if m.command == nil {
		m.command = commands.Guess(m.call.Typed, b.request(m))
	}
	if m.command == nil {
		b.drop(ctx, m, dropUnknownCommand)
		return ctx, false
	}
	return m.rec.Begin(ctx, b.Instruments.Operation(m.command.Name), trace.SpanKindConsumer), true
}

// request is a message as commands see it, without its arguments.
func (b *Bot) request(m *message) command.Request {
	return command.Request{
		Sender: m.in.Sender,
		Name:   m.in.Name,
		Number: m.in.Number,
		Admin:  b.circle.admin(&m.in),
		Chat:   chatOf(&m.in),
		Group:  m.in.GroupName,
		Text:   m.call.Text,
		At:     m.at,
		Sent:   m.in.Timestamp,
	}
}
