package bot

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// How often one person is told that they are too fast, or that something is not
// for them, and that something did not work.
const (
	politeness = time.Minute
	patience   = 10 * time.Second
)

// doubt is how long it is taken that admins were told of a group when that may
// have arrived: a second notice an hour later is better than none for ever.
const doubt = time.Hour

// maxTold bounds of how many people it is known that they were told.
const maxTold = 1024

// told is who was told lately.
type told struct {
	every time.Duration
	mu    sync.Mutex
	at    map[string]time.Time // guarded by mu
}

// first reports whether someone was not told lately, and notes that they are.
// When too many are known it says no: silence is better than a flood of ours.
func (t *told) first(who string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.at[who]; ok && now.Sub(at) < t.every {
		return false
	}
	if t.at == nil {
		t.at = make(map[string]time.Time)
	}
	if len(t.at) >= maxTold {
		for other, at := range t.at {
			if now.Sub(at) >= t.every {
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

// later has someone told again no sooner than then.
func (t *told) later(who string, then time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at[who] = then.Add(-t.every)
}

// tooMany tells somebody once that their commands are not taken for now. It
// runs on the reader and never waits.
func (b *Bot) tooMany(in *envelope.Message) {
	if in.Sender == selftestSender || !b.told.first(in.Sender, time.Now()) {
		return
	}
	b.notify(chatOf(in), b.Lang.TooManyWaiting(b.options.SenderWaiting))
}

// stranger tells the admins that the bot is called in a group that was not
// allowed: once, when one of them certainly was told, else at a later call again.
// It runs on the reader and never waits.
func (b *Bot) stranger(in *envelope.Message) {
	group, title := in.GroupID, in.GroupName
	if len(b.options.Admins) == 0 || !b.strangers.first(group, time.Now()) {
		return
	}
	b.beside("tell admins of a group", func(ctx context.Context) error {
		if err := b.Out.Wait(ctx); err != nil {
			return err // and a later call is the first
		}
		if !b.Rules.FirstCall(group) {
			return nil
		}
		text, reached := b.Lang.UnknownGroup(title, b.allowCall(group)), false
		for _, admin := range b.options.Admins {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), asideTimeout)
			defer cancel()
			_, err := b.post(ctx, transport.Outgoing{Chat: transport.Chat{User: admin}, Text: text})
			if err == nil {
				reached = true
				continue
			}
			b.Log.LogAttrs(ctx, slog.LevelWarn, "an admin was not told of a group", slog.Any("err", err))
			if errors.Is(err, transport.ErrOutcomeUnknown) {
				b.strangers.later(group, time.Now().Add(doubt))
			}
		}
		return b.Rules.Told(group, reached)
	})
}

// notify writes a text to a chat that nobody asked for, if there is room for
// that. It is not kept: a crash may lose it, and it never goes out twice.
func (b *Bot) notify(chat transport.Chat, text string) {
	b.beside("write a notice", func(ctx context.Context) error {
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
