package bot

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"quartet/services/botd/internal/transport"
)

// debugged are the chats whose commands and answers go into the log, with their
// texts. It is switched on for one chat at a time, and ends by itself.
type debugged struct {
	some  atomic.Bool // whether there are any
	mu    sync.Mutex
	chats map[transport.Chat]place // guarded by mu
}

// place is one chat's among those that are debugged.
type place struct {
	until time.Time // its texts go into the log; zero before the chat was told
	kept  time.Time // until when no other chat gets the place
}

// maxDebugged is how many there may be.
const maxDebugged = 16

// Debug keeps a place for a chat and returns what begins to write what is said
// there into the log, until then; nil when too many chats have one. A time that
// is over ends it.
func (b *Bot) Debug(chat transport.Chat, until time.Time) (begin func()) {
	d := &b.debugged
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for c, p := range d.chats {
		if !now.Before(p.kept) {
			delete(d.chats, c)
		}
	}
	p, has := d.chats[chat]
	switch {
	case !now.Before(until):
		delete(d.chats, chat)
	case len(d.chats) >= maxDebugged && !has:
		return nil
	case d.chats == nil:
		d.chats = map[transport.Chat]place{chat: {kept: until}}
	default:
		d.chats[chat] = place{until: p.until, kept: until}
	}
	d.some.Store(len(d.chats) > 0)
	return func() { d.begin(chat, until) }
}

// begin does nothing for a chat that has lost its place: it was ended meanwhile.
func (d *debugged) begin(chat transport.Chat, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p, has := d.chats[chat]; has {
		d.chats[chat] = place{until: until, kept: p.kept}
	}
}

func (d *debugged) log(ctx context.Context, log *slog.Logger, m *message) {
	if !d.some.Load() {
		return
	}
	d.mu.Lock()
	until := d.chats[chatOf(&m.in)].until
	d.mu.Unlock()
	if time.Now().Before(until) {
		log.LogAttrs(ctx, slog.LevelInfo, "debugged", slog.String("command", m.command.Name), slog.String("text", m.in.Text),
			slog.String("answer", chatty(&m.reply)), slog.Any("err", m.err))
	}
}
