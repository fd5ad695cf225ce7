package bot

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"quartet/services/botd/internal/envelope"
)

const (
	// maxFiles is what messages weigh at the most whose files are still to be
	// deleted. The files of those beyond it stay.
	maxFiles = 4 << 20

	// deleteTries and deletePause are for a server that is busy, or starts.
	deleteTries = 3
	deletePause = 2 * time.Second
)

// files are what came with one message.
type files struct {
	ids    []string
	weight int64 // of the message, which the ids keep in memory
}

// deleteAttachments lets the server forget the files of a message that is over:
// answered, or dropped. It never waits. One that comes twice may have brought
// them anew.
func (b *Bot) deleteAttachments(in *envelope.Message) {
	if !b.options.DeleteAttachments || len(in.Attachments) == 0 {
		return
	}
	f := files{in.Attachments, minCost + weight(in)}
	if b.litter.TryTake(f.weight) {
		b.files <- f // it has room for as many messages as litter
	}
}

// deleteFiles deletes what is to be, one message's files after another's.
func (b *Bot) deleteFiles(ctx context.Context) error {
	for {
		select {
		case f := <-b.files:
			b.deleteAll(ctx, f.ids)
			b.litter.Give(f.weight)
		case <-ctx.Done():
			return nil
		}
	}
}

// deleteAll deletes files. Those that cannot be deleted after all are borne.
func (b *Bot) deleteAll(ctx context.Context, ids []string) {
	for try := 1; ; try++ {
		left, err := b.deleteEach(ctx, ids)
		if err == nil {
			return
		}
		if try == deleteTries || !sleep(ctx, deletePause) {
			b.Log.LogAttrs(ctx, slog.LevelWarn, "files of a message stay at the server", slog.Int("files", len(left)), slog.Any("err", err))
			return
		}
		ids = left
	}
}

// deleteEach returns which of some files are still there, and why.
func (b *Bot) deleteEach(ctx context.Context, ids []string) (left []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, asideTimeout)
	defer cancel()
	for _, id := range ids {
		if e := b.Signal.DeleteAttachment(ctx, id); e != nil && !errors.Is(e, errors.ErrUnsupported) {
			left, err = append(left, id), e
		}
	}
	return left, err
}
