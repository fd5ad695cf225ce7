package bot

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// politeness is how often one person is told that they are too fast.
const politeness = time.Minute

// maxTold bounds of how many people it is known that they were told.
const maxTold = 1024

// told is who was told lately.
type told struct {
	mu sync.Mutex
	at map[string]time.Time // guarded by mu
}

// first reports whether someone was not told lately, and notes that they are.
// When too many are known it says no: silence is better than a flood of ours.
func (t *told) first(who string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.at[who]; ok && now.Sub(at) < politeness {
		return false
	}
	if t.at == nil {
		t.at = make(map[string]time.Time)
	}
	if len(t.at) >= maxTold {
		for other, at := range t.at {
			if now.Sub(at) >= politeness {
				delete(t.at, other)
			}
		}
		if len(t.at) >= maxTold {
			return false
		}
	}
	t.at[who] = now
	return true
}

// tooMany tells somebody once that their commands are not taken for now. It
// runs on the reader and never waits.
func (b *Bot) tooMany(ctx context.Context, in *envelope.Message) {
	if in.Sender == selftestSender || !b.told.first(in.Sender, time.Now()) {
		return
	}
	b.notify(ctx, chatOf(in), b.Lang.TooManyWaiting(b.options.SenderWaiting))
}

// stranger tells the admins, once, that the bot is called in a group that was
// not allowed. It runs on the reader and never waits.
func (b *Bot) stranger(ctx context.Context, in *envelope.Message) {
	group, title := in.GroupID, in.GroupName
	if len(b.options.Admins) == 0 || !b.strangers.first(group, time.Now()) {
		return
	}
	b.beside(ctx, "tell admins of a group", func(ctx context.Context) error {
		first, err := b.Rules.FirstCall(group)
		if err != nil || !first {
			return err
		}
		text := b.Lang.UnknownGroup(title, b.allowCall(group))
		for _, admin := range b.options.Admins {
			if _, err := b.post(ctx, transport.Outgoing{Chat: transport.Chat{User: admin}, Text: text}); err != nil {
				b.Log.LogAttrs(ctx, slog.LevelWarn, "an admin was not told of a group", slog.Any("err", err))
			}
		}
		return nil
	})
}

// notify writes a text to a chat that nobody asked for, if there is room for
// that. It is not kept: a crash may lose it, and it never goes out twice.
func (b *Bot) notify(ctx context.Context, chat transport.Chat, text string) {
	b.beside(ctx, "write a notice", func(ctx context.Context) error {
		_, err := b.post(ctx, transport.Outgoing{Chat: chat, Text: text})
		return err
	})
}

// post writes to a chat in its turn, outside of any question.
func (b *Bot) post(ctx context.Context, out transport.Outgoing) (transport.Receipt, error) {
	if err := b.Out.Wait(ctx); err != nil {
		return transport.Receipt{}, err
	}
	if err := b.Out.Turn(ctx, out.Chat); err != nil {
		return transport.Receipt{}, err
	}
	defer b.Out.Done(out.Chat)
	return b.Out.Send(ctx, out)
}

// allowCall is what an admin has to write to allow a group.
func (b *Bot) allowCall(group string) string {
	commands := b.commands.Load()
	return commands.Shown(commands.Find(asked.Fold("dopuść"))) + " " + group
}
