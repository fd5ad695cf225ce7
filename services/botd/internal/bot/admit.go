package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"quartet/kit/budget"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/store"
)

// minCost is what a waiting message weighs beside its texts: its struct with
// the timing record, its places in the lock and the channel.
const minCost = 1 << 10

// enqueue gives a message its place behind its sender's earlier ones. With wait
// it waits for room in the backlog, until ctx ends; otherwise it never waits,
// and what does not fit is dropped.
func (b *Bot) enqueue(ctx context.Context, m *message, wait bool) {
	if wait && ctx.Err() != nil {
		b.drop(ctx, m, dropShutdown) // room or not: it must not pass one that was left
		return
	}
	if !b.backlog.TryTake(m.cost) {
		if reason := b.makeRoom(ctx, m, wait); reason != "" {
			b.drop(ctx, m, reason)
			return
		}
	}
	b.queue(ctx, m)
}

// queue does so for a message that has room in the backlog.
func (b *Bot) queue(ctx context.Context, m *message) {
	// turns has room for as many messages as the backlog, so this send does
	// not wait.
	if err := b.senders.Queue(m.in.Sender, func() { b.turns <- m }); err != nil {
		b.backlog.Give(m.cost)
		b.drop(ctx, m, dropSenderBusy)
		b.tooMany(&m.in)
	}
}

// makeRoom waits for room in a full backlog if it may, and returns why there
// is none.
func (b *Bot) makeRoom(ctx context.Context, m *message, wait bool) dropReason {
	if !wait {
		if b.backlog.TryTake(0) { // into a closed one not even nothing fits
			return dropBacklogFull
		}
		return dropShutdown
	}
	switch err := b.backlog.Take(ctx, m.cost); {
	case err == nil:
		return ""
	case errors.Is(err, budget.ErrTooLarge):
		return dropBacklogFull
	default:
		return dropShutdown
	}
}

// abortTimeout is how long a cancelled request may take to notice.
const abortTimeout = 2 * time.Second

// admit gives a slot to one message after another whose turn it is, and only
// then a goroutine: a burst waits as messages, not as goroutines. While nothing
// can be sent they wait here.
func (b *Bot) admit(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			b.abandon()
			return nil
		case m := <-b.turns:
			b.admitOne(ctx, m)
		}
	}
}

func (b *Bot) admitOne(ctx context.Context, m *message) {
	if b.Out.Wait(ctx) != nil {
		b.leave(ctx, m, dropShutdown)
		return
	}
	if err := b.slots.Go(ctx, 1, func() { b.serve(ctx, m) }); err != nil {
		b.leave(ctx, m, dropShutdown)
		return
	}
	b.backlog.Give(m.cost)
}

// drain waits until what was received has been served, or for the drain
// time-out. Nothing new is taken in meanwhile.
func (b *Bot) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, b.options.DrainTimeout)
	defer cancel()
	if err := b.Out.Paused(); err != nil && b.Store.Durable() {
		b.Log.LogAttrs(ctx, slog.LevelInfo, "what waits is left for the next start", slog.Any("err", err))
		return
	}
	// In the order in which a message goes through them.
	for _, stage := range []*budget.Budget{b.backlog, b.slots, b.replies, b.sends, b.asides, b.litter} {
		if err := stage.Drain(ctx); err != nil {
			b.Log.LogAttrs(ctx, slog.LevelWarn, "stopped with work left", slog.Any("err", err),
				slog.Int64("backlog_bytes", b.backlog.Stats().InUse), slog.Int64("in_flight", b.slots.Stats().InUse+b.sends.Stats().InUse))
			return
		}
	}
}

// abandon counts what is still waiting when the time for draining is over,
// after the requests under way, which are cancelled, have made room. Whatever
// waits is in the backlog, and comes into turns when the sender's message
// before it has gone.
func (b *Bot) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	for _, stage := range []*budget.Budget{b.slots, b.replies, b.sends} {
		if err := stage.Drain(ctx); err != nil {
			b.Log.LogAttrs(ctx, slog.LevelError, "requests did not notice that they were cancelled", slog.Any("err", err))
		}
	}
	for b.backlog.Stats().InUse > 0 {
		select {
		case m := <-b.turns:
			b.leave(ctx, m, dropShutdown)
		default:
			if !sleep(ctx, time.Millisecond) {
				return // the rest is behind a request that did not notice
			}
		}
	}
}

// leave drops a message whose turn it was, and unlocks its sender, which brings
// the next one into turns.
func (b *Bot) leave(ctx context.Context, m *message, reason dropReason) {
	b.drop(ctx, m, reason)
	b.senders.Unlock(m.in.Sender)
	b.backlog.Give(m.cost)
}

// drop counts a message that will not be served.
func (b *Bot) drop(ctx context.Context, m *message, reason dropReason) {
	b.Counters.drop(ctx, reason)
	switch {
	case reason == dropUnknownCommand:
		b.note(ctx, m, ledger.NoCommand)
	case reason != dropShutdown || m.finished != nil: // what a stop leaves waits for the next start
		b.note(ctx, m, ledger.Dropped)
	}
	if reason != dropShutdown {
		b.deleteAttachments(&m.in)
	}
	m.end(verdict{err: fmt.Errorf("dropped: %s", reason)})
}

// note writes a state that changes nothing any more for the asker, with what
// else becomes true by it: a failure is reported and borne.
func (b *Bot) note(ctx context.Context, m *message, s ledger.State, with ...store.Record) {
	var err error
	switch {
	case m.kept:
		err = b.Ledger.Settle(ledger.KeyOf(&m.in), s, with...)
	case len(with) > 0:
		err = b.Store.Append(with...)
	}
	if err != nil {
		b.Log.LogAttrs(ctx, slog.LevelError, "not noted what became of a message", slog.Any("err", err))
	}
}

// end tells a waiting self-test how the message ended.
func (m *message) end(v verdict) {
	if m.finished != nil {
		m.finished(v)
	}
}
