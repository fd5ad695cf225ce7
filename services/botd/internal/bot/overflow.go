package bot

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/fault"
	"quartet/services/botd/internal/ledger"
	"quartet/services/botd/internal/spill"
)

// place gives a message its place where the reader must not wait: in the
// backlog, or on disk when that is full or others wait there already. What has
// no room anywhere is dropped.
func (b *Bot) place(ctx context.Context, m *message) {
	if b.Spill == nil || m.in.Timestamp == 0 || b.spilled.Load() == 0 && b.backlog.TryTake(m.cost) {
		b.placeInMemory(ctx, m)
		return
	}
	switch {
	case b.Ledger.Known(&m.in):
		b.drop(ctx, m, dropDuplicate)
		return
	case b.Spill.Waiting(m.in.Sender) >= b.options.SenderWaiting:
		b.drop(ctx, m, dropSenderBusy)
		b.tooMany(&m.in)
		return
	}
	b.spilling.Lock() // takeOne must not have it before the ledger
	defer b.spilling.Unlock()
	m.rec.BeginStore()
	err := b.Spill.Push(&m.in, m.at)
	m.rec.EndStore()
	if err != nil {
		reason := dropNotKept
		if errors.Is(err, spill.ErrFull) {
			reason = dropBacklogFull
		}
		b.drop(ctx, m, reason)
		return
	}
	b.spilled.Add(1)
	fault.Point(fault.Spilled)
	b.keep(ctx, m, true) // what it drops, takeBack passes over
}

func (b *Bot) placeInMemory(ctx context.Context, m *message) {
	taken := b.Spill != nil && m.in.Timestamp != 0 // then there is room for it
	if !b.keep(ctx, m, false) {
		if taken {
			b.backlog.Give(m.cost)
		}
		return
	}
	if taken {
		b.queue(ctx, m)
		return
	}
	b.enqueue(ctx, m, false)
}

// takeBack brings what waits on disk back into the backlog, in its order, as
// there is room, until ctx ends. What is left is there at the next start.
func (b *Bot) takeBack(ctx context.Context) {
	if b.Spill == nil {
		return
	}
	for {
		taken, err := b.Spill.Next(ctx)
		if err == nil {
			err = b.takeOne(ctx, b.again(taken.Message, taken.At))
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			b.spilled.Add(-1)
			continue
		}
		b.Log.LogAttrs(ctx, slog.LevelError, "what waits on disk cannot be read", slog.Any("err", err))
		if !sleep(ctx, keepRetry) {
			return
		}
	}
}

// takeOne gives a message from disk its place, once the ledger has its text.
func (b *Bot) takeOne(ctx context.Context, m *message) error {
	key := ledger.KeyOf(&m.in)
	b.spilling.Lock() // until who puts messages there has told the ledger of this one
	state := b.Ledger.StateOf(key)
	b.spilling.Unlock()
	if why := b.overdue(m); why != "" {
		if state == ledger.Waiting {
			b.drop(ctx, m, why)
		}
		return nil
	}
	m.rec.BeginStore()
	wanted, err := b.Ledger.Unspill(&m.in)
	for err != nil && sleep(ctx, keepRetry) {
		wanted, err = b.Ledger.Unspill(&m.in)
	}
	m.rec.EndStore()
	switch {
	case err != nil:
		return err
	case wanted:
		b.enqueue(ctx, m, true)
	case b.Ledger.StateOf(key) == ledger.Dropped:
		b.Counters.drop(ctx, dropDeleted) // its author took it back
		b.deleteAttachments(&m.in)
	}
	return nil // else it was answered before a crash
}

// again is a message that was taken and kept before.
func (b *Bot) again(in envelope.Message, at time.Time) *message {
	m := &message{in: in, at: at, kept: true, cost: minCost + weight(&in)}
	m.rec.Start(time.Now())
	return m
}

// overdue returns why what was kept is not to be answered any more, "" when it
// is. Our account may be another than before: what the old one was asked is not
// answered by the new one. Triage takes our account in one spelling only.
func (b *Bot) overdue(m *message) dropReason {
	switch {
	case m.in.Account != "" && m.in.Account != b.Number:
		return dropForeignAccount
	case b.outlived(m):
		return dropStale
	}
	return ""
}

// outlived reports whether nobody waits for an answer any more.
func (b *Bot) outlived(m *message) bool {
	return time.Since(m.at) > b.options.MaxAge || m.in.Sender == selftestSender
}
