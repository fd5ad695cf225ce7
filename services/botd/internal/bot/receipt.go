package bot

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/ledger"
)

// clockSkew is how far Signal's server's clock may be from ours.
const clockSkew = 5 * time.Second

// receipt settles answers of unknown outcome. A receipt names a message of ours
// by its timestamp. If that is none that we know to have gone out, and its
// author has asked for something of which nobody knows whether the answer went
// out, and that was being sent at that moment, then it did.
func (b *Bot) receipt(ctx context.Context, in *envelope.Message) {
	strange := slices.DeleteFunc(in.Receipts, b.Out.Sent)
	// Anybody may send receipts, and many: one look tells whether they can matter.
	if len(strange) == 0 || len(b.unsettled(in.Sender, slices.Min(strange), slices.Max(strange))) == 0 {
		return
	}
	for _, at := range strange {
		unknown := b.unsettled(in.Sender, at, at)
		if len(unknown) == 0 {
			continue
		}
		if err := b.Ledger.Settle(unknown[0], ledger.Sent); err != nil {
			b.Log.LogAttrs(ctx, slog.LevelError, "not noted what became of a message", slog.Any("err", err))
			continue
		}
		b.Counters.settled(ctx)
	}
}

// unsettled are the questions of somebody of which nobody knows whether they
// were answered, and whose answer may have got a timestamp between two. What an
// earlier life sent beside them nobody knows any more: before its answer began a
// timestamp of then is another's, and it is better not settled than by that.
func (b *Bot) unsettled(sender string, from, to int64) []ledger.Key {
	last := time.UnixMilli(to)
	if last.After(b.began.Add(clockSkew)) {
		last = last.Add(clockSkew)
	}
	return b.Ledger.Unknown(sender, time.UnixMilli(from).Add(-b.options.SendTimeout-clockSkew), last)
}
