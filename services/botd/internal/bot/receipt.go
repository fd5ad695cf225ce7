package bot

import (
	"context"
	"log/slog"
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
	for _, at := range in.Receipt.Timestamps {
		if _, known := b.Out.Sent(at); known {
			continue
		}
		sent := time.UnixMilli(at)
		unknown := b.Ledger.Unknown(in.Sender, sent.Add(-b.options.SendTimeout-clockSkew), sent.Add(clockSkew))
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
