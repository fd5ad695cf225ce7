package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"quartet/kit/journal"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/transport"
)

const (
	// maxAge is how old a message of an earlier life may be to be answered
	// still. Nobody wants last night's cat in the morning.
	maxAge = 10 * time.Minute

	// tidyPeriod is short, so that no flood fills the ledger between two.
	tidyPeriod = time.Second

	// keepRetry is the pause before the next try to write to the ledger.
	keepRetry = time.Second
)

// errLeft ends a send that a stop came before: the message waits for the next
// start.
var errLeft = errors.New("left for the next start")

// keep writes a message to the ledger. It returns false for one that came
// before, and for one that cannot be kept: without a note that it was taken, it
// could be answered twice.
func (b *Bot) keep(ctx context.Context, m *message) bool {
	if m.in.Timestamp == 0 {
		return true // without a name it can neither come twice nor be remembered
	}
	m.rec.BeginStore()
	fresh, err := b.Ledger.Accept(&m.in, time.Now())
	for err != nil && b.mayKeepLater(err) && sleep(ctx, keepRetry) {
		fresh, err = b.Ledger.Accept(&m.in, time.Now())
	}
	m.rec.EndStore()
	switch {
	case err != nil:
		b.drop(ctx, m, dropNotKept)
	case !fresh:
		b.drop(ctx, m, dropDuplicate)
	default:
		m.kept = true
		return true
	}
	return false
}

// mayKeepLater reports whether a message that could not be written may be later,
// and what comes behind it waits at the server so long.
func (b *Bot) mayKeepLater(err error) bool {
	return b.Signal.Traits().PressesBack && !errors.Is(err, journal.ErrTooLarge)
}

// resume puts what an earlier life took and did not answer in its place.
func (b *Bot) resume(ctx context.Context) {
	if r := b.Ledger.Recovered(); r != (ledger.Recovered{}) {
		b.Counters.unknownAnswers(ctx, r.Unknown)
		b.Log.LogAttrs(ctx, slog.LevelInfo, "going on where an earlier run ended", slog.Int("waiting", r.Waiting),
			slog.Int("unknown", r.Unknown), slog.Int64("torn_bytes", r.TornBytes))
	}
	for _, w := range b.Ledger.Waiting() {
		now := time.Now()
		m := &message{in: w.Message, kept: true, cost: minCost + weight(&w.Message)}
		m.rec.Start(now)
		if now.Sub(w.At) > maxAge || w.Message.Sender == selftestSender { // nobody waits for that one any more
			b.drop(ctx, m, dropStale)
			continue
		}
		b.enqueue(ctx, m, true)
	}
}

// begin notes that an answer is about to be sent.
func (b *Bot) begin(ctx context.Context, m *message) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	if !m.kept {
		return nil
	}
	m.rec.BeginStore()
	defer m.rec.EndStore()
	err := b.Ledger.Begin(ledger.KeyOf(&m.in))
	if err != nil {
		b.Log.LogAttrs(ctx, slog.LevelError, "reply not begun", slog.String("command", m.command.Name), slog.Any("err", err))
	}
	return err
}

// settle notes what became of a message, sent or not.
func (b *Bot) settle(ctx context.Context, m *message, err error) {
	state := ledger.Sent
	switch {
	case errors.Is(err, errLeft):
		return
	case errors.Is(err, transport.ErrOutcomeUnknown):
		state = ledger.Unknown
		b.Counters.unknownAnswers(ctx, 1)
	case err != nil:
		state = ledger.Failed
	}
	m.rec.BeginStore()
	defer m.rec.EndStore()
	b.note(ctx, m, state)
}

// note writes a state that changes nothing any more for the asker: a failure
// is reported and borne.
func (b *Bot) note(ctx context.Context, m *message, s ledger.State) {
	if !m.kept {
		return
	}
	if err := b.Ledger.Settle(ledger.KeyOf(&m.in), s); err != nil {
		b.Log.LogAttrs(ctx, slog.LevelError, "not noted what became of a message", slog.Any("err", err))
	}
}

// tidy keeps the ledger short until ctx ends.
func (b *Bot) tidy(ctx context.Context) error {
	failing := false
	for sleep(ctx, tidyPeriod) {
		err := b.Ledger.Tidy(time.Now())
		switch {
		case err != nil && !failing:
			b.Log.LogAttrs(ctx, slog.LevelError, "the ledger cannot be shortened", slog.Any("err", err))
		case err == nil && failing:
			b.Log.LogAttrs(ctx, slog.LevelInfo, "the ledger can be shortened again")
		}
		failing = err != nil
	}
	return nil
}
