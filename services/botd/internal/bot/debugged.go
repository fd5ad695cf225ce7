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
	until map[transport.Chat]time.Time // guarded by mu
}

// maxDebugged is how many there may be.
const maxDebugged = 16

// Debug writes what is said in a chat into the log until then; a time that is
// over ends it. It reports false when too many chats are.
func (b *Bot) Debug(chat transport.Chat, until time.Time) bool {
	d := &b.debugged
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for c, end := range d.until {
		if !now.Before(end) {
			delete(d.until, c)
		}
	}
	switch {
	case !now.Before(until):
		delete(d.until, chat)
	case len(d.until) >= maxDebugged && d.until[chat].IsZero():
		return false
	case d.until == nil:
		d.until = map[transport.Chat]time.Time{chat: until}
	default:
		d.until[chat] = until
	}
	d.some.Store(len(d.until) > 0)
	return true
}

func (d *debugged) log(ctx context.Context, log *slog.Logger, m *message) {
	if !d.some.Load() {
		return
	}
	d.mu.Lock()
	until := d.until[chatOf(&m.in)]
	d.mu.Unlock()
	if time.Now().Before(until) {
		log.LogAttrs(ctx, slog.LevelInfo, "debugged", slog.String("command", m.command.Name), slog.String("text", m.in.Text),
			slog.String("answer", chatty(&m.reply)), slog.Any("err", m.err))
	}
}
