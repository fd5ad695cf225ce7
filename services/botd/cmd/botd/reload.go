package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/transport"
)

// waiter serves what is on the menu: at SIGHUP the operator's file is read again,
// and takes the place of the old one whole, or, with a fault in it, not at all. A
// pause that Signal wanted ends too: the operator may have solved its captcha.
type waiter struct {
	*kitchen
	log     *slog.Logger
	hangUps <-chan os.Signal
	menu    atomic.Pointer[menu]
}

// catchHangUps is never undone: a SIGHUP that comes while the bot starts is seen
// to once it has, and one that comes while it stops must not kill it.
func catchHangUps() <-chan os.Signal {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	return hangUps
}

// watch reads the file again at each SIGHUP until ctx ends.
func (w *waiter) watch(ctx context.Context) error {
	for {
		select {
		case <-w.hangUps:
			w.reload(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *waiter) reload(ctx context.Context) {
	w.bot.Out.Retry()
	next, err := w.cook()
	if err != nil {
		w.log.LogAttrs(ctx, slog.LevelError, "commands not read again, the old ones stay", slog.Any("err", err))
		return
	}
	commands, schedules := next.file.Diff(w.menu.Load().file)
	w.menu.Store(next)
	w.bot.SetCommands(next.registry)
	w.state.schedule.Changed()
	w.log.LogAttrs(ctx, slog.LevelInfo, "commands read again", slog.Any("commands", commands), slog.Any("schedules", schedules))
}

// schedules are those of the file as it is now.
func (w *waiter) schedules() []commandfile.Schedule { return w.menu.Load().file.Schedules }

// fire says what a schedule is to say. It is written down that it ran, so a stop
// gives it as much time as what was asked for.
func (w *waiter) fire(ctx context.Context, s commandfile.Schedule) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(time.Duration(w.cfg.DrainTimeout), cancel) })
	defer stop()
	call := ""
	if s.Command != "" {
		call = w.cfg.Prefixes[0] + s.Command + " " + s.Words
	}
	for _, chat := range s.Chats {
		if err := w.bot.Post(work, transport.Chat(chat), s.Text, call); err != nil {
			w.log.LogAttrs(ctx, slog.LevelError, "schedule not said", slog.String("schedule", s.Name), slog.Any("err", err))
		}
	}
}
